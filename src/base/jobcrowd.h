/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The crowd of a job: the user that is responsible for its lane, plus one; a value below; or 0 for
 * a disk, which does not hang. Of the lanes in which only one user has jobs, at most two run at a
 * time. If both hang, jobs in other lanes of that user are returned undone. The lanes of all users
 * together leave threads for disks.
 */
#ifndef BASE_JOBCROWD_H
#define BASE_JOBCROWD_H

#include <stdint.h>

#define JOB_CROWD_ROOT	  UINT64_MAX
#define JOB_CROWD_UNKNOWN (UINT64_MAX - 1) /* for example, the process has ended */

#endif
