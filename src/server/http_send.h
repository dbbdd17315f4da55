/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Answers as libmicrohttpd sends them: status, headers, bytes. */
#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

#include "server/assets.h"
#include "server/request.h"

/* What is said of an answer besides its bytes. */
struct sent {
	int status;
	const char *type;      /* NULL: JSON */
	const char *etag;      /* NULL: none */
	const char *file_name; /* NULL: it is no download */
	const char *timing;    /* NULL: nothing is said about it */
	bool gzip;
	bool foreign; /* see struct request */
};

/* Sends bytes, which stay where they are until the request is completed unless they are copied. */
enum MHD_Result send_bytes(struct MHD_Connection *c, const struct sent *how, const void *bytes,
			   size_t size, bool copy);
/* Sends what a function gives, as long as it gives something. */
enum MHD_Result send_stream(struct MHD_Connection *c, const struct sent *how,
			    MHD_ContentReaderCallback read, void *context);
enum MHD_Result send_fault(struct MHD_Connection *c, const struct server *s, const struct fault *f);
enum MHD_Result send_asset(struct MHD_Connection *c, const struct asset *a);
/* Leads to `/` with a cookie. */
enum MHD_Result send_token(struct MHD_Connection *c, const struct server *s, const char *token);

const char *header_of(struct MHD_Connection *c, const char *name);
/* May the answer be compressed? */
bool accepts_gzip(struct MHD_Connection *c);
/* Has the client this one already? */
bool has_etag(struct MHD_Connection *c, const char *etag);
