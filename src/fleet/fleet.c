/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The connection to a fleet's server.  See fleet.h.
 *
 * An answer is held back until the query has ended (wait_end_of_query), so that one that fails in
 * the middle is an error and not half an answer. */
#include "fleet/fleet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/sink.h"
#include "base/xalloc.h"

#define PORT "8123"
#define TIMEOUT_MS 120000
#define CODE_RUNNING 216 /* "Query with id = … is already running" */
#define CODE_NO_DATABASE 81
#define CODE_NO_TABLE 60

bool fleet_is_address(const char *text)
{
	return !strncmp(text, "clickhouse://", 13) || !strncmp(text, "clickhouses://", 14);
}

static bool is_database(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return *text && !text[n] && n < FLEET_NAME_MAX;
}

int fleet_parse(struct fleet *f, const char *text, struct err *err)
{
	bool tls = !strncmp(text, "clickhouses://", 14);
	auto_free char *host = NULL;
	auto_free char *url = NULL;
	const char *slash, *colon;

	*f = (struct fleet){ .timeout_ms = TIMEOUT_MS };
	if (!fleet_is_address(text) || !(slash = strchr(text + (tls ? 14 : 13), '/')) ||
	    !is_database(slash + 1))
		return err_set(err, -EINVAL,
			       "'%.100s' is not the address of a fleet: "
			       "clickhouse://HOST[:PORT]/DATABASE, or clickhouses:// with TLS",
			       text);
	text += tls ? 14 : 13;
	host = xmemdup0(text, (size_t)(slash - text));
	if (strchr(host, '@'))
		return err_set(err, -EINVAL,
			       "who asks is not part of the address, which others can read: a "
			       "configuration file or MEMOIR_FLEET_USER says it");
	colon = strrchr(host, ':');
	url = xasprintf("%s://%s%s", tls ? "https" : "http", host,
			colon && !strchr(colon, ']') ? ""
			: tls			     ? ":8443"
						     : ":" PORT);
	if (http_parse_address(&f->address, url, err))
		return -EINVAL;
	snprintf(f->database, sizeof(f->database), "%s", slash + 1);
	snprintf(f->name, sizeof(f->name), "clickhouse%s://%s/%s", tls ? "s" : "", host,
		 f->database);
	return 0;
}

/* "Code: 62, e.displayText() = DB::Exception: Syntax error: …, e.what() = DB::Exception" */
static int explain_refusal(const struct http_call *c, struct err *err)
{
	const char *text = c->body->size ? c->body->data : "", *begin, *end;
	long code = !strncmp(text, "Code: ", 6) ? strtol(text + 6, NULL, 10) : 0;
	size_t size;

	begin = strstr(text, "DB::Exception: ");
	begin = begin ? begin + 15 : text;
	end = strstr(begin, ", e.what()");
	size = end ? (size_t)(end - begin) : strcspn(begin, "\n");
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)begin[i] < ' ')
			size = i;
	if (code == CODE_RUNNING)
		return err_set(err, -EBUSY, "the same rows are being taken already");
	if (code == CODE_NO_DATABASE || code == CODE_NO_TABLE)
		return err_set(err, -ENOENT, "there is no fleet: memoir fleet init makes it (%.*s)",
			       size < 120 ? (int)size : 120, begin);
	if (!size)
		return err_set(err, -EPROTO, "the server's answer is %u", c->status);
	return err_set(err, c->status >= 500 || c->status < 400 ? -EPROTO : -EACCES,
		       "the server says: %.*s", size < 200 ? (int)size : 200, begin);
}

struct request {
	const char *database; /* NULL: none */
	const char *query;    /* in the address; NULL: in the body */
	const char *query_id;
	const struct buf *content;
	bool packed;
};

static int call_server(const struct fleet *f, const struct request *r, struct buf *out,
		       struct err *err)
{
	auto_free char *user = xasprintf("X-ClickHouse-User: %s", *f->user ? f->user : "default");
	auto_free char *key = xasprintf("X-ClickHouse-Key: %s", f->password);
	const char *headers[4] = { user, key, r->packed ? "Content-Encoding: gzip" : NULL, NULL };
	struct http_address address = f->address;
	auto_buf struct buf target = { 0 }, body = { 0 };
	struct http_call c = { .address = &address,
			       .method = "POST",
			       .type = "application/octet-stream",
			       .headers = headers,
			       .content = r->content,
			       .timeout_ms = (int)f->timeout_ms,
			       .body = &body };
	int error;

	buf_text(&target, "/?wait_end_of_query=1&insert_distributed_sync=1");
	if (r->database)
		http_add_param(&target, "database", r->database);
	if (r->query_id)
		http_add_param(&target, "query_id", r->query_id);
	if (r->query)
		http_add_param(&target, "query", r->query);
	if (target.size >= sizeof(address.target))
		return err_set(err, -E2BIG, "the question is too long");
	memcpy(address.target, target.data, target.size + 1);
	error = http_call(&c, err);
	if (error)
		return error;
	if (c.status != 200)
		return explain_refusal(&c, err);
	if (out)
		buf_add(out, body.data, body.size);
	return 0;
}

int fleet_ask(const struct fleet *f, const char *sql, struct buf *out, struct err *err)
{
	struct buf content = { .data = (char *)sql, .size = strlen(sql) };

	return call_server(f, &(struct request){ .database = f->database, .content = &content },
			   out, err);
}

int fleet_ask_server(const struct fleet *f, const char *sql, struct buf *out, struct err *err)
{
	struct buf content = { .data = (char *)sql, .size = strlen(sql) };

	return call_server(f, &(struct request){ .content = &content }, out, err);
}

int fleet_ask_number(const struct fleet *f, const char *sql, uint64_t *ret, struct err *err)
{
	auto_buf struct buf out = { 0 };
	int error = fleet_ask(f, sql, &out, err);

	*ret = !error && out.size ? strtoull(out.data, NULL, 10) : 0;
	return error;
}

int fleet_send(const struct fleet *f, const char *insert, const struct buf *rows,
	       const char *query_id, struct err *err)
{
	auto_buf struct buf packed = { 0 };
	struct request r = {
		.database = f->database, .query = insert, .query_id = query_id, .content = rows
	};
	struct sink sink;

	/* On the same computer packing takes longer than sending. */
	if (f->address.local)
		return call_server(f, &r, NULL, err);
	sink_to_buf(&sink, &packed, SINK_GZIP);
	buf_add(&sink.buf, rows->data, rows->size);
	if (sink_finish(&sink, err))
		return -EIO;
	r.content = &packed;
	r.packed = true;
	return call_server(f, &r, NULL, err);
}
