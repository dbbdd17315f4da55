/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* HTTP requests.  See request.h. */
#include "agent/request.h"

#include <string.h>
#include <strings.h>

struct piece {
	const char *at;
	size_t size;
};

static int refuse(const char **ret_why, int status, const char *why)
{
	*ret_why = why;
	return -status;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Into out with a 0 behind it; false: bad encoding, a control character, or too long. */
static bool decode(struct piece p, bool plus_is_blank, char *out, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < p.size; i++) {
		unsigned char c = (unsigned char)p.at[i];

		if (c == '%') {
			int high, low;

			if (p.size - i < 3)
				return false;
			high = hex(p.at[i + 1]);
			low = hex(p.at[i + 2]);
			if (high < 0 || low < 0)
				return false;
			c = (unsigned char)(high << 4 | low);
			i += 2;
		} else if (c == '+' && plus_is_blank) {
			c = ' ';
		}
		if (c < 0x20 || c == 0x7f || n + 1 >= room)
			return false;
		out[n++] = (char)c;
	}
	out[n] = 0;
	return true;
}

static bool is_token_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static struct piece trim(struct piece p)
{
	while (p.size && (*p.at == ' ' || *p.at == '\t'))
		p.at++, p.size--;
	while (p.size && (p.at[p.size - 1] == ' ' || p.at[p.size - 1] == '\t'))
		p.size--;
	return p;
}

static bool is(struct piece p, const char *word)
{
	return p.size == strlen(word) && !strncasecmp(p.at, word, p.size);
}

static bool request_copy_piece(struct piece p, char *out, size_t room)
{
	if (p.size >= room)
		return false;
	memcpy(out, p.at, p.size);
	out[p.size] = 0;
	return true;
}

/* METHOD SP TARGET SP HTTP/1.x */
static int first_line(struct request *r, struct piece line, const char **ret_why)
{
	const char *blank = memchr(line.at, ' ', line.size), *end = line.at + line.size, *last;
	struct piece method, target, query = { "", 0 }, path;
	const char *mark;

	if (!blank)
		return refuse(ret_why, 400, "this is not an HTTP request");
	method = (struct piece){ line.at, (size_t)(blank - line.at) };
	for (size_t i = 0; i < method.size; i++)
		if (!is_token_char(method.at[i]))
			return refuse(ret_why, 400, "this is not an HTTP request");
	if (!method.size)
		return refuse(ret_why, 400, "this is not an HTTP request");
	if (!request_copy_piece(method, r->method, sizeof(r->method)))
		return refuse(ret_why, 501, "this method is not known");
	last = memrchr(blank + 1, ' ', (size_t)(end - blank - 1));
	if (!last || end - last < 8 || memcmp(last + 1, "HTTP/", 5))
		return refuse(ret_why, 400, "this is not an HTTP request");
	if (end - last != 9 || memcmp(last + 1, "HTTP/1.", 7))
		return refuse(ret_why, 505, "only HTTP/1.0 and HTTP/1.1 are supported");
	target = (struct piece){ blank + 1, (size_t)(last - blank - 1) };
	if (!target.size || *target.at != '/')
		return refuse(ret_why, 400, "the target is not a path");
	mark = memchr(target.at, '?', target.size);
	path = target;
	if (mark) {
		path.size = (size_t)(mark - target.at);
		query = (struct piece){ mark + 1, target.size - path.size - 1 };
	}
	if (path.size >= sizeof(r->path) || !request_copy_piece(query, r->query, sizeof(r->query)))
		return refuse(ret_why, 414, "the target is too long");
	if (!decode(path, false, r->path, sizeof(r->path)))
		return refuse(ret_why, 400, "the path is not encoded as it must be");
	return 0;
}

static bool number(struct piece p, size_t *ret)
{
	size_t value = 0;

	if (!p.size || p.size > 12)
		return false;
	for (size_t i = 0; i < p.size; i++) {
		if (p.at[i] < '0' || p.at[i] > '9')
			return false;
		value = value * 10 + (size_t)(p.at[i] - '0');
	}
	*ret = value;
	return true;
}

static int header(struct request *r, struct piece line, bool *has_length, const char **ret_why)
{
	const char *colon = memchr(line.at, ':', line.size);
	struct piece name, value;
	size_t size;

	if (!colon || colon == line.at)
		return refuse(ret_why, 400, "a header line has no name");
	name = (struct piece){ line.at, (size_t)(colon - line.at) };
	value = trim((struct piece){ colon + 1, line.size - name.size - 1 });
	for (size_t i = 0; i < name.size; i++)
		if (!is_token_char(name.at[i]))
			return refuse(ret_why, 400, "a header's name is none");
	for (size_t i = 0; i < value.size; i++)
		if ((unsigned char)value.at[i] < 0x20 && value.at[i] != '\t')
			return refuse(ret_why, 400, "a header has a control character");
	if (is(name, "host")) {
		if (*r->host || !request_copy_piece(value, r->host, sizeof(r->host)))
			return refuse(ret_why, 400, "the Host header is wrong");
	} else if (is(name, "content-length")) {
		if (!number(value, &size) || (*has_length && size != r->body_size))
			return refuse(ret_why, 400, "Content-Length is not a number");
		*has_length = true;
		r->body_size = size;
		if (size > REQUEST_BODY_MAX)
			return refuse(ret_why, 413, "the body is too large");
	} else if (is(name, "transfer-encoding")) {
		return refuse(ret_why, 501, "bodies must come with Content-Length");
	} else if (is(name, "origin")) {
		r->has_origin = true;
		if (!request_copy_piece(value, r->origin, sizeof(r->origin)))
			r->origin[0] = 0;
	} else if (is(name, "sec-fetch-site")) {
		r->foreign |= is(value, "cross-site") || is(value, "same-site");
	} else if (is(name, "sec-fetch-mode")) {
		r->navigates = is(value, "navigate");
	} else if (is(name, "expect")) {
		r->expects_continue = is(value, "100-continue");
	} else if (is(name, "connection")) {
		r->keep_alive = is(value, "keep-alive");
	} else if (is(name, "authorization") || is(name, "x-memoir-token")) {
		if (is(name, "authorization")) {
			if (value.size < 7 || strncasecmp(value.at, "bearer ", 7))
				return 0;
			value = trim((struct piece){ value.at + 7, value.size - 7 });
		}
		r->has_token = true;
		if (!request_copy_piece(value, r->token, sizeof(r->token)))
			r->token[0] = 0;
	}
	return 0;
}

/* The line at `at` without its end; false if it has none yet.  *ret_next is behind it. */
static bool next_line(const char *at, const char *end, struct piece *ret_line,
		      const char **ret_next)
{
	const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;

	if (!newline)
		return false;
	*ret_line = (struct piece){ at, (size_t)(newline - at) };
	if (ret_line->size && at[ret_line->size - 1] == '\r')
		ret_line->size--;
	*ret_next = newline + 1;
	return true;
}

int request_parse(struct request *r, const char *bytes, size_t size, const char **ret_why)
{
	const char *end = bytes + (size < REQUEST_HEAD_MAX ? size : REQUEST_HEAD_MAX), *at = bytes;
	bool has_length = false;
	struct piece line;
	int e;

	memset(r, 0, sizeof(*r));
	*ret_why = "";
	/* An empty line before a request is forgiven, once. */
	if (size >= 2 && bytes[0] == '\r' && bytes[1] == '\n')
		at += 2;
	if (!next_line(at, end, &line, &at))
		return size >= REQUEST_HEAD_MAX ? refuse(ret_why, 414, "the target is too long")
						: 0;
	e = first_line(r, line, ret_why);
	while (!e) {
		if (!next_line(at, end, &line, &at))
			return size >= REQUEST_HEAD_MAX
				       ? refuse(ret_why, 431, "the head is too large")
				       : 0;
		if (!line.size) {
			r->head_size = (size_t)(at - bytes);
			return 1;
		}
		e = header(r, line, &has_length, ret_why);
	}
	return e;
}

/* The parameter at `at` of the query; false at the end. */
static bool next_param(const char **at, struct piece *ret_name, struct piece *ret_value)
{
	const char *start = *at, *end = start + strcspn(start, "&"), *equals;

	if (!*start)
		return false;
	equals = memchr(start, '=', (size_t)(end - start));
	*ret_name = (struct piece){ start, (size_t)((equals ? equals : end) - start) };
	*ret_value = equals ? (struct piece){ equals + 1, (size_t)(end - equals - 1) }
			    : (struct piece){ end, 0 };
	*at = end + (*end == '&');
	return true;
}

int request_param(const struct request *r, const char *name, char *out, size_t room)
{
	const char *at = r->query;
	struct piece key, value;

	while (next_param(&at, &key, &value))
		if (key.size == strlen(name) && !memcmp(key.at, name, key.size))
			return decode(value, true, out, room) ? 1 : -1;
	return 0;
}

static bool is_one_of(struct piece p, const char *words)
{
	while (*words) {
		size_t n = strcspn(words, " ");

		if (n == p.size && !memcmp(words, p.at, n))
			return true;
		words += n;
		words += strspn(words, " ");
	}
	return false;
}

bool request_unknown_param(const struct request *r, const char *words, char *out, size_t room)
{
	const char *at = r->query;
	struct piece key, value;

	while (next_param(&at, &key, &value)) {
		if (is_one_of(key, words))
			continue;
		if (key.size >= room)
			key.size = room - 1;
		if (!decode(key, true, out, room))
			out[0] = 0;
		return true;
	}
	return false;
}

/* Digits and dots, or an address in brackets. */
static bool is_literal(struct piece p)
{
	bool six = p.size > 2 && *p.at == '[' && p.at[p.size - 1] == ']';

	if (!p.size)
		return false;
	for (size_t i = six; i < p.size - six; i++)
		if (!((p.at[i] >= '0' && p.at[i] <= '9') || p.at[i] == '.' ||
		      (six && (p.at[i] == ':' || hex(p.at[i]) >= 0))))
			return false;
	return true;
}

bool request_from_elsewhere(const struct request *r)
{
	const char *host = strstr(r->origin, "://");

	if (r->has_origin && (!host || strncasecmp(host + 3, r->host, sizeof(r->host))))
		return true;
	return r->foreign && !r->navigates;
}

/* Without the port. */
static struct piece host_name(const char *host)
{
	struct piece p = { host, strlen(host) };
	const char *colon = *host == '[' ? strchr(host, ']') : host;

	colon = colon ? strchr(colon, ':') : NULL;
	if (colon)
		p.size = (size_t)(colon - host);
	return p;
}

bool request_host_listed(const char *host, const char *list)
{
	struct piece p = host_name(host);

	for (; *list; list += strspn(list, ", ")) {
		size_t n = strcspn(list, ", ");

		if (n && n == p.size && !strncasecmp(list, p.at, n))
			return true;
		list += n;
	}
	return false;
}

bool request_host_allowed(const char *host, const char *listening, bool everywhere)
{
	struct piece p = host_name(host);

	if (is(p, "localhost") || is(p, listening))
		return true;
	if (!is_literal(p))
		return false;
	return everywhere || !strncmp(p.at, "127.", 4) || is(p, "[::1]");
}
