#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Adds up 20,000 lines of a pipe, one by one: for the source vfs.
sum=0
seq 1 20000 | while read -r n; do
	sum=$((sum + n))
	[ "$n" -lt 20000 ] || echo "$sum"
done
