/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What Pyroscope wants to be sent: POST /ingest with everything in the query and the profile as the
 * body, or its push API, JSON with the profile inside.
 *
 * Names and labels come from the command line and are checked here, so that a profile is refused
 * before it is sent and not by a server. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "client/http.h"

struct buf;

#define PYROSCOPE_LABELS 32

struct pyroscope_label {
	char name[64];
	char value[192];
};

enum pyroscope_format { PYROSCOPE_PPROF, PYROSCOPE_FOLDED };

struct pyroscope {
	struct http_address server;
	bool push_api;
	enum pyroscope_format format; /* the push API takes pprof only */
	char name[192];
	struct pyroscope_label labels[PYROSCOPE_LABELS];
	size_t label_count;
};

/* Each 0, or -EINVAL with err.  The address may have a path that comes before theirs. */
int pyroscope_server(struct pyroscope *p, const char *url, struct err *err);
int pyroscope_name(struct pyroscope *p, const char *name, struct err *err);
int pyroscope_label(struct pyroscope *p, const char *text, struct err *err); /* NAME=VALUE */

/* What is asked for: `address` becomes the server's with path and query; times are seconds since
 * 1970.  -EINVAL with err: all labels together are too long. */
int pyroscope_target(const struct pyroscope *p, int64_t from, int64_t until,
		     struct http_address *address, struct err *err);
/* Sends one; 0, or -errno with err. */
int pyroscope_send(const struct pyroscope *p, const struct buf *profile, int64_t from,
		   int64_t until, int timeout_ms, struct err *err);
