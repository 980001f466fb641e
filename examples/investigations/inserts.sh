#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# 60 inserts into SQLite, each a transaction of its own: for the source block. In the current folder, on a disk.
set -eu
db=$(mktemp inserts-XXXXXX.db)
trap 'rm -f "$db" "$db-journal"' EXIT
{
	echo 'CREATE TABLE orders(id INTEGER PRIMARY KEY, what TEXT);'
	for n in $(seq 60); do
		echo "INSERT INTO orders(what) VALUES('order $n');"
	done
} | sqlite3 "$db"
