// SPDX-License-Identifier: GPL-2.0-or-later
/* Multiplies, divides, powers and gcd of numbers of several sizes: libgmp's assembly. */
#include <gmp.h>

static const unsigned long bits[] = { 64, 700, 3000, 20000 };

static void set(mpz_t x, unsigned long bit_cnt, unsigned long seed)
{
	mpz_set_ui(x, seed);
	for (unsigned long done = 64; done < bit_cnt; done *= 2)
		mpz_mul(x, x, x);
	mpz_setbit(x, bit_cnt);
	mpz_setbit(x, 0);
}

static unsigned long run(unsigned long bit_cnt)
{
	mpz_t a, b, c, d;
	unsigned long sum;

	mpz_inits(a, b, c, d, NULL);
	set(a, bit_cnt, 0x9e3779b97f4a7c15);
	set(b, bit_cnt / 2, 0xbf58476d1ce4e5b9);
	mpz_mul(c, a, b);
	mpz_add(c, c, a);
	mpz_tdiv_qr(c, d, c, b);
	mpz_gcd(d, a, d);
	mpz_set_ui(d, 65537);
	if (bit_cnt < 10000)
		mpz_powm(c, b, d, a);
	sum = mpz_get_ui(c) + mpz_get_ui(d);
	mpz_clears(a, b, c, d, NULL);
	return sum;
}

int main(void)
{
	unsigned long sum = 0;

	for (unsigned i = 0; i < sizeof(bits) / sizeof(*bits); i++)
		sum += run(bits[i]);
	return sum == 0;
}
