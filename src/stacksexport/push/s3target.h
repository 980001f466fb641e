/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where objects go, and in which name: the URL of the command line, and what the environment and
 * the file of credentials say. */
#ifndef STACKSEXPORT_PUSH_S3TARGET_H
#define STACKSEXPORT_PUSH_S3TARGET_H

struct s3_target {
	char *base;		    /* https://HOST/BUCKET/PREFIX, without a slash at its end */
	char *region;		    /* "us-east-1" */
	char *key, *secret, *token; /* token: NULL without one */
};

/*
 * `url`: s3://BUCKET/PREFIX (at AWS_ENDPOINT_URL, else at Amazon), or http(s)://HOST/BUCKET/PREFIX.
 * Reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, else the section AWS_PROFILE
 * of AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials), and AWS_REGION. Returns 0 or -errno (already
 * logged). Call s3_target__free() in either case.
 */
int s3_target__read(struct s3_target *, const char *url);
void s3_target__free(struct s3_target *);

#endif
