// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check_tables ADDRESSES FILE…: compiles each file's table and compares it with libdw's rules, and
 * with those of single FDEs, at the start of every row and at ADDRESSES random places. Prints
 * differences and totals; exits with 1 if there was a difference.
 */
#include "lib/tablecheck.h"

int main(int argc, char **argv)
{
	struct tablecheck totals = { 0 };

	for (int i = 2; i < argc; i++)
		tablecheck__file(argv[i], strtoul(argv[1], NULL, 10), &totals);
	printf("%zu files, %zu rows, %zu rules, %.2f bytes a row, made in %.1f ms; compared %zu "
	       "places: %zu left to libdw, %zu in %zu files answered without a table, "
	       "%zu not, %zu different\n",
	       totals.files, totals.rows, totals.rules,
	       totals.rows ? (double)totals.bytes / (double)totals.rows : 0, totals.make_s * 1e3,
	       totals.compared, totals.elsewhere, totals.answered, totals.indexed, totals.refused,
	       totals.different);
	return totals.different != 0;
}
