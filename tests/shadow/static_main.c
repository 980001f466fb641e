// SPDX-License-Identifier: GPL-2.0-or-later
/* The static test program: qsort, printf and an IRELATIVE function. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int main(void)
{
	int v[] = { 5, 3, 9, 1, 7 };
	char text[64];

	qsort(v, 5, sizeof(*v), by_value);
	snprintf(text, sizeof(text), "%d %d", v[0], v[4]);
	return strlen(text) != 3;
}
