/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sending.  See http_send.h. */
#include "server/http_send.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/xalloc.h"
#include "server/guard.h"
#include "server/server.h"

#define STREAM_BLOCK (128u << 10)
#define TYPE_JSON "application/json"

/* Nothing from elsewhere, no script in the page itself. */
#define POLICY_PAGE                                                                                \
	"default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "     \
	"form-action 'self'; frame-ancestors 'none'"
/* A document with scripts of its own (an exported flame graph): it may run them, and reach nothing.
 */
#define POLICY_FOREIGN                                                                             \
	"sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; "  \
	"style-src 'unsafe-inline'; img-src data:; font-src data:; frame-ancestors 'none'"

const char *header_of(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

bool accepts_gzip(struct MHD_Connection *c)
{
	const char *p = header_of(c, "Accept-Encoding");

	while (p && (p = strcasestr(p, "gzip"))) {
		const char *q = p + 4;

		q += strspn(q, " \t");
		if (*q != ';')
			return true;
		q += 1 + strspn(q + 1, " \t");
		return strncasecmp(q, "q=", 2) != 0 || strtod(q + 2, NULL) > 0;
	}
	return false;
}

bool has_etag(struct MHD_Connection *c, const char *etag)
{
	const char *given = header_of(c, "If-None-Match");

	return given && (!strcmp(given, "*") || strstr(given, etag));
}

static void add_header(struct MHD_Response *r, const char *name, const char *value)
{
	MHD_add_response_header(r, name, value);
}

/* Names of downloads: what is not plain becomes '_'. */
static void add_file_name(struct MHD_Response *r, const char *name)
{
	auto_free char *text = xasprintf("attachment; filename=\"%s\"", name);

	for (char *p = text + strlen("attachment; filename=\""); *p && p[1]; p++)
		if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e || strchr("\"\\/", *p))
			*p = '_';
	add_header(r, "Content-Disposition", text);
}

static void add_headers(struct MHD_Response *r, const struct sent *how)
{
	add_header(r, "Content-Type", how->type ? how->type : TYPE_JSON);
	add_header(r, "Content-Security-Policy", how->foreign ? POLICY_FOREIGN : POLICY_PAGE);
	add_header(r, "X-Content-Type-Options", "nosniff");
	add_header(r, "X-Frame-Options", "DENY");
	add_header(r, "Referrer-Policy", "no-referrer");
	add_header(r, "Cross-Origin-Resource-Policy", "same-origin");
	add_header(r, "Cross-Origin-Opener-Policy", "same-origin");
	add_header(r, "Cache-Control", how->etag ? "no-cache" : "no-store");
	add_header(r, "Vary", "Accept-Encoding");
	if (how->etag)
		add_header(r, "ETag", how->etag);
	if (how->timing)
		add_header(r, "Server-Timing", how->timing);
	if (how->gzip)
		add_header(r, "Content-Encoding", "gzip");
	if (how->file_name)
		add_file_name(r, how->file_name);
}

static enum MHD_Result queue(struct MHD_Connection *c, const struct sent *how,
			     struct MHD_Response *r)
{
	enum MHD_Result done;

	if (!r)
		return MHD_NO;
	add_headers(r, how);
	done = MHD_queue_response(c, (unsigned)how->status, r);
	MHD_destroy_response(r);
	return done;
}

enum MHD_Result send_bytes(struct MHD_Connection *c, const struct sent *how, const void *bytes,
			   size_t size, bool copy)
{
	return queue(c, how,
		     MHD_create_response_from_buffer(size, size ? (void *)bytes : (void *)"",
						     copy && size ? MHD_RESPMEM_MUST_COPY
								  : MHD_RESPMEM_PERSISTENT));
}

enum MHD_Result send_stream(struct MHD_Connection *c, const struct sent *how,
			    MHD_ContentReaderCallback read, void *context)
{
	return queue(c, how,
		     MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read,
						       context, NULL));
}

static void fault_json(const struct fault *f, struct buf *out)
{
	struct json j = { .out = out, .compact = true };

	json_object(&j, NULL);
	json_text(&j, "error", f->text);
	if (*f->parameter)
		json_text(&j, "parameter", f->parameter);
	if (f->position >= 0)
		json_number(&j, "position", (uint64_t)f->position);
	if (f->status == 503 && f->progress >= 0) {
		json_text(&j, "state", "loading");
		json_real(&j, "progress", f->progress, 2);
	}
	json_end_object(&j);
}

static void allow(const struct fault *f, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "%s%s%s", f->methods & METHOD_GET ? "GET, HEAD, " : "",
		 f->methods & METHOD_POST ? "POST, " : "",
		 f->methods & METHOD_DELETE ? "DELETE, " : "");
	if (*ret_text)
		ret_text[strlen(ret_text) - 2] = 0;
}

enum MHD_Result send_fault(struct MHD_Connection *c, const struct server *s, const struct fault *f)
{
	struct sent how = { .status = f->status };
	struct buf body = { 0 };
	struct MHD_Response *r;
	enum MHD_Result done;
	char methods[64];

	fault_json(f, &body);
	r = MHD_create_response_from_buffer(body.size, body.data, MHD_RESPMEM_MUST_COPY);
	buf_release(&body);
	if (!r)
		return MHD_NO;
	if (f->status == 405) {
		allow(f, methods, sizeof(methods));
		add_header(r, "Allow", methods);
	} else if (f->status == 401) {
		add_header(r, "WWW-Authenticate",
			   s->options.password ? "Basic realm=\"memoir\""
					       : "Bearer realm=\"memoir\"");
	} else if (f->status == 503) {
		add_header(r, "Retry-After", "1");
	}
	add_headers(r, &how);
	done = MHD_queue_response(c, (unsigned)f->status, r);
	MHD_destroy_response(r);
	return done;
}

/* A redirection belongs to the page that led here: from a page elsewhere the strict cookie would
 * not come along, so there our own page leads on. */
enum MHD_Result send_token(struct MHD_Connection *c, const struct server *s, const char *token)
{
	static const char page[] =
		"<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=/\">"
		"<title>Memoir</title><a href=\"/\">Memoir</a>\n";
	const char *site = header_of(c, "Sec-Fetch-Site");
	bool elsewhere = site && strcmp(site, "none") != 0 && strcmp(site, "same-origin") != 0;
	struct MHD_Response *r = MHD_create_response_from_buffer(
		elsewhere ? sizeof(page) - 1 : 0, (void *)page, MHD_RESPMEM_PERSISTENT);
	char name[GUARD_COOKIE_SIZE];
	auto_free char *cookie = NULL;
	enum MHD_Result done;

	if (!r)
		return MHD_NO;
	guard_cookie_name(s, name);
	cookie = xasprintf("%s=%s; Path=/; HttpOnly; SameSite=Strict", name, token);
	if (!elsewhere)
		add_header(r, "Location", "/");
	add_header(r, "Set-Cookie", cookie);
	add_headers(r, &(struct sent){ .type = elsewhere ? "text/html" : "text/plain" });
	done = MHD_queue_response(c, elsewhere ? MHD_HTTP_OK : MHD_HTTP_SEE_OTHER, r);
	MHD_destroy_response(r);
	return done;
}

/* For the rare client that does not take gzip. */
static bool unpack(const struct asset *a, struct buf *out)
{
	z_stream z = { .next_in = (unsigned char *)a->gzip, .avail_in = (unsigned)a->length };
	int status;

	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return false;
	do {
		buf_reserve(out, 65536);
		z.next_out = (unsigned char *)out->data + out->size;
		z.avail_out = 65535;
		status = inflate(&z, Z_NO_FLUSH);
		out->size += 65535 - z.avail_out;
	} while (status == Z_OK);
	inflateEnd(&z);
	return status == Z_STREAM_END;
}

enum MHD_Result send_asset(struct MHD_Connection *c, const struct asset *a)
{
	struct sent how = {
		.status = 200, .type = a->type, .etag = a->etag, .gzip = accepts_gzip(c)
	};
	auto_buf struct buf plain = { 0 };

	if (has_etag(c, a->etag)) {
		how.status = 304;
		how.gzip = false;
		return send_bytes(c, &how, "", 0, false);
	}
	if (how.gzip)
		return send_bytes(c, &how, a->gzip, a->length, false);
	if (!unpack(a, &plain))
		how.status = 500;
	return send_bytes(c, &how, plain.data, plain.size, true);
}
