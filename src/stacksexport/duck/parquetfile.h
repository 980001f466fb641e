/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks that a file can be Parquet, by its first and last bytes. */
#ifndef STACKSEXPORT_DUCK_PARQUETFILE_H
#define STACKSEXPORT_DUCK_PARQUETFILE_H

/* Returns 0, -EBADMSG with the reason in *problem, or -errno (already logged). */
int parquet_file__check(const char *path, const char **problem);

/* Logs why `path` cannot be read and, if permission is missing, which user can read it. Returns
 * `err`, which is -errno. */
int parquet_file__unreadable(const char *path, int err);

#endif
