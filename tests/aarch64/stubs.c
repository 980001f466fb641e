// SPDX-License-Identifier: GPL-2.0-or-later
void first(void), second(void), third(void);

void calls(void)
{
	first();
	second();
	third();
	first();
}
