/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef STACKSEXPORT_PUSH_S3UPLOAD_H
#define STACKSEXPORT_PUSH_S3UPLOAD_H

#include <stdint.h>

#include "stacksexport/push/s3request.h"

/* Sends a file as an object, in several parts if it is large. Returns like s3__send(). */
int s3_upload__file(struct s3 *, int fd, uint64_t sz, const char *object);

#endif
