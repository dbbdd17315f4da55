/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Requests to Pyroscope.  See pyroscope.h. */
#include "client/pyroscope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/json.h"

#define INGEST "/ingest"
#define FOLDED_TYPE "inuse_space"
#define PUSH "/push.v1.PusherService/Push"

static bool letter(char c)
{
	return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_';
}

/* Bytes that would end a name or a label, or the line of a request. */
static bool plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f || strchr("{},=\"", *text))
			return false;
	return true;
}

int pyroscope_server(struct pyroscope *p, const char *url, struct err *err)
{
	int e = http_parse_address(&p->server, url, err);
	size_t n;

	if (e)
		return e;
	if (strchr(p->server.target, '?'))
		return err_set(err, -EINVAL, "the server's address has no query");
	n = strlen(p->server.target);
	while (n && p->server.target[n - 1] == '/')
		p->server.target[--n] = 0;
	return 0;
}

int pyroscope_name(struct pyroscope *p, const char *name, struct err *err)
{
	if (!*name || strlen(name) >= sizeof(p->name) || !plain(name))
		return err_set(err, -EINVAL,
			       "a name has up to %zu bytes, and none of { } , = and \"",
			       sizeof(p->name) - 1);
	strcpy(p->name, name);
	return 0;
}

int pyroscope_label(struct pyroscope *p, const char *text, struct err *err)
{
	const char *equals = strchr(text, '=');
	size_t n = equals ? (size_t)(equals - text) : 0;
	struct pyroscope_label *label = &p->labels[p->label_count];

	if (p->label_count == PYROSCOPE_LABELS)
		return err_set(err, -EINVAL, "%u labels at most", PYROSCOPE_LABELS);
	if (!n || n >= sizeof(label->name) || !letter(*text))
		return err_set(err, -EINVAL, "a label is NAME=VALUE");
	for (size_t i = 0; i < n; i++)
		if (!letter(text[i]) && !(text[i] >= '0' && text[i] <= '9'))
			return err_set(err, -EINVAL,
				       "a label's name has letters, digits and underlines");
	if (!equals[1] || strlen(equals + 1) >= sizeof(label->value) || !plain(equals + 1))
		return err_set(err, -EINVAL,
			       "a label's value has up to %zu bytes, and none of { } , = and \"",
			       sizeof(label->value) - 1);
	memcpy(label->name, text, n);
	label->name[n] = 0;
	strcpy(label->value, equals + 1);
	p->label_count++;
	return 0;
}

static bool ends_in_type(const char *name)
{
	size_t n = strlen(name), m = strlen("." FOLDED_TYPE);

	return n > m && !strcmp(name + n - m, "." FOLDED_TYPE);
}

int pyroscope_target(const struct pyroscope *p, int64_t from, int64_t until,
		     struct http_address *address, struct err *err)
{
	const char *path = p->push_api ? PUSH : INGEST;
	size_t had = strlen(p->server.target), n = strlen(path);
	auto_buf struct buf target = { 0 }, name = { 0 };
	int e = 0;

	*address = p->server;
	buf_text(&target, p->server.target);
	if (had < n || strcmp(p->server.target + had - n, path) != 0)
		buf_text(&target, path);
	if (!p->push_api) {
		buf_text(&name, p->name);
		/* A profile of pprof says what its numbers are; for text the name's last part does.
		 */
		if (p->format == PYROSCOPE_FOLDED && !ends_in_type(p->name))
			buf_text(&name, "." FOLDED_TYPE);
		for (size_t i = 0; i < p->label_count; i++)
			buf_printf(&name, "%c%s=%s", i ? ',' : '{', p->labels[i].name,
				   p->labels[i].value);
		if (p->label_count)
			buf_char(&name, '}');
		buf_text(&target, "?name=");
		http_escape(&target, name.data);
		buf_printf(&target, "&from=%" PRId64 "&until=%" PRId64 "&format=%s", from, until,
			   p->format == PYROSCOPE_PPROF ? "pprof" : "folded");
		/* Without these, text would be samples of processor time. */
		if (p->format == PYROSCOPE_FOLDED)
			buf_text(&target, "&units=bytes&aggregationType=average");
	}
	if (target.size >= sizeof(address->target))
		e = err_set(err, -EINVAL, "name and labels are too long together");
	else
		strcpy(address->target, target.data);
	return e;
}

static void put_label(struct json *j, const char *name, const char *value)
{
	json_object(j, NULL);
	json_text(j, "name", name);
	json_text(j, "value", value);
	json_end_object(j);
}

/* The body, and its type. */
static const char *pyroscope_body(const struct pyroscope *p, const struct buf *profile,
				  struct buf *ret)
{
	auto_buf struct buf text = { 0 };
	struct json j = { .out = ret, .compact = true };

	if (!p->push_api) {
		if (profile->size)
			buf_add(ret, profile->data, profile->size);
		return p->format == PYROSCOPE_PPROF ? "application/octet-stream" : "text/plain";
	}
	json_object(&j, NULL);
	json_array(&j, "series");
	json_object(&j, NULL);
	json_array(&j, "labels");
	put_label(&j, "__name__", "memory");
	put_label(&j, "service_name", p->name);
	for (size_t i = 0; i < p->label_count; i++)
		put_label(&j, p->labels[i].name, p->labels[i].value);
	json_end_array(&j);
	json_array(&j, "samples");
	json_object(&j, NULL);
	buf_char(&text, '"');
	buf_base64(&text, profile->data, profile->size);
	buf_char(&text, '"');
	json_written(&j, "rawProfile", text.data, text.size);
	json_end_object(&j);
	json_end_array(&j);
	json_end_object(&j);
	json_end_array(&j);
	json_end_object(&j);
	return "application/json";
}

int pyroscope_send(const struct pyroscope *p, const struct buf *profile, int64_t from,
		   int64_t until, int timeout_ms, struct err *err)
{
	auto_buf struct buf body = { 0 }, answer = { 0 };
	struct http_address address;
	int e = pyroscope_target(p, from, until, &address, err);

	if (!e) {
		const char *type = pyroscope_body(p, profile, &body);

		e = http_ask(&(struct http_call){ .address = &address,
						  .method = "POST",
						  .type = type,
						  .content = &body,
						  .timeout_ms = timeout_ms,
						  .body = &answer },
			     err);
	}
	return e;
}
