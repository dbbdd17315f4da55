/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A small HTTP client.  See http.h. */
#include "client/http.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/xalloc.h"

#define ANSWER_MAX (256u << 20)
#define HEAD_MAX 65536
#define BLOCK 65536

static int no_address(struct err *err, const char *text)
{
	return err_set(err, -EINVAL,
		       "'%.100s' is no address: http://HOST:PORT/stats or unix:/SOCKET", text);
}

static bool copy(char *to, size_t room, const char *text, size_t size)
{
	if (size >= room)
		return false;
	memcpy(to, text, size);
	to[size] = 0;
	return true;
}

static int parse_unix(struct http_address *a, const char *text, struct err *err)
{
	const char *path = text + strlen("unix:"), *colon = strstr(path, ":/");
	size_t n = colon ? (size_t)(colon - path) : strlen(path);

	if (*path != '/' || !copy(a->socket, sizeof(a->socket), path, n) ||
	    (colon && !copy(a->target, sizeof(a->target), colon + 1, strlen(colon + 1))))
		return no_address(err, text);
	return 0;
}

static bool plain(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text == 0x7f)
			return false;
	return true;
}

int http_parse_address(struct http_address *a, const char *text, struct err *err)
{
	const char *host, *end, *port, *rest;

	memset(a, 0, sizeof(*a));
	strcpy(a->port, "80");
	if (!plain(text))
		return no_address(err, text);
	if (!strncmp(text, "unix:", 5))
		return parse_unix(a, text, err);
	if (strncmp(text, "http://", 7) != 0)
		return no_address(err, text);
	host = text + 7;
	rest = host + strcspn(host, "/?");
	if (*host == '[') {
		end = memchr(host, ']', (size_t)(rest - host));
		if (!end)
			return no_address(err, text);
		host++;
		port = end + 1;
	} else {
		port = end = host + strcspn(host, ":/?");
	}
	if (end == host || !copy(a->host, sizeof(a->host), host, (size_t)(end - host)))
		return no_address(err, text);
	if (port < rest &&
	    (*port != ':' || strspn(port + 1, "0123456789") != (size_t)(rest - port - 1) ||
	     rest - port < 2 ||
	     !copy(a->port, sizeof(a->port), port + 1, (size_t)(rest - port - 1))))
		return no_address(err, text);
	if (strlen(rest) + 2 > sizeof(a->target))
		return no_address(err, text);
	snprintf(a->target, sizeof(a->target), "%s%s", *rest == '?' ? "/" : "", rest);
	return 0;
}

void http_escape(struct buf *out, const char *value)
{
	for (; *value; value++) {
		if ((*value >= '0' && *value <= '9') ||
		    ((*value | 32) >= 'a' && (*value | 32) <= 'z') || strchr("-._/", *value))
			buf_char(out, *value);
		else
			buf_printf(out, "%%%02X", (unsigned char)*value);
	}
}

void http_add_param(struct buf *target, const char *name, const char *value)
{
	bool first = !target->size || !memchr(target->data, '?', target->size);

	buf_printf(target, "%c%s=", first ? '?' : '&', name);
	http_escape(target, value);
}

/* The value of a header, or NULL; `head` ends with a NUL. */
static const char *header(const char *head, const char *name)
{
	size_t n = strlen(name);

	for (const char *line = strchr(head, '\n'); line; line = strchr(line, '\n')) {
		line++;
		if (!strncasecmp(line, name, n) && line[n] == ':')
			return line + n + 1 + strspn(line + n + 1, " \t");
	}
	return NULL;
}

static int bad(struct err *err, const char *what)
{
	return err_set(err, -EBADMSG, "the answer is no HTTP: %s", what);
}

/* SIZE CRLF bytes CRLF …, and a size of 0 at the end. */
static int chunked(const char *at, const char *end, bool ended, struct buf *body, struct err *err)
{
	buf_clear(body);
	for (;;) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		unsigned long long size = 0;
		unsigned digits = 0;

		if (!line)
			return ended || end - at > 1024 ? bad(err, "it is cut off") : 0;
		for (; at < line && digits < 9; at++, digits++) {
			int c = *at | 32;
			int value = c >= '0' && c <= '9'   ? c - '0'
				    : c >= 'a' && c <= 'f' ? c - 'a' + 10
							   : -1;

			if (value < 0)
				break;
			size = size * 16 + (unsigned)value;
		}
		if (!digits || size > ANSWER_MAX)
			return bad(err, "a piece has no size");
		at = line + 1;
		if (!size)
			return 1;
		if ((size_t)(end - at) < size + 2)
			return ended ? bad(err, "it is cut off") : 0;
		buf_add(body, at, size);
		at += size;
		if (at[0] != '\r' || at[1] != '\n')
			return bad(err, "a piece does not end where it should");
		at += 2;
	}
}

static int whole(const char *at, size_t there, const char *length, bool ended, struct buf *body,
		 struct err *err)
{
	char *end;
	unsigned long long size;

	errno = 0;
	size = strtoull(length, &end, 10);
	if (*length < '0' || *length > '9' || errno || size > ANSWER_MAX)
		return bad(err, "its length makes no sense");
	if (there < size)
		return ended ? bad(err, "it is cut off") : 0;
	buf_clear(body);
	if (size)
		buf_add(body, at, (size_t)size);
	return 1;
}

static int other_status(unsigned status, const struct buf *body, struct err *err)
{
	size_t n = 0;
	char line[160];

	while (n < body->size && n < sizeof(line) - 1 && body->data[n] >= ' ' &&
	       body->data[n] < 127) {
		line[n] = body->data[n];
		n++;
	}
	line[n] = 0;
	return err_set(err, -EPROTO, "the answer is %u%s%s", status, n ? ": " : "", line);
}

int http_parse_reply(const char *text, size_t size, bool ended, unsigned *ret_status,
		     struct buf *body, struct err *err)
{
	const char *end = size ? memmem(text, size, "\r\n\r\n", 4) : NULL, *value;
	auto_free char *head = NULL;
	int e;

	*ret_status = 0;
	if (size >= 5 && memcmp(text, "HTTP/", 5) != 0)
		return bad(err, "it does not begin with HTTP/");
	if (!end)
		return ended || size > HEAD_MAX ? bad(err, "its head has no end") : 0;
	head = xmemdup0(text, (size_t)(end - text));
	end += 4;
	if (sscanf(head, "HTTP/%*1[0-9].%*1[0-9] %3u", ret_status) != 1)
		return bad(err, "it has no status");
	value = header(head, "Transfer-Encoding");
	if (value && !strncasecmp(value, "chunked", 7)) {
		e = chunked(end, text + size, ended, body, err);
	} else if ((value = header(head, "Content-Length"))) {
		e = whole(end, (size_t)(text + size - end), value, ended, body, err);
	} else {
		e = ended;
		buf_clear(body);
		if (text + size > end)
			buf_add(body, end, (size_t)(text + size - end));
	}
	return e;
}

int http_parse_answer(const char *text, size_t size, bool ended, struct buf *body, struct err *err)
{
	unsigned status;
	int e = http_parse_reply(text, size, ended, &status, body, err);

	return e == 1 && status / 100 != 2 ? other_status(status, body, err) : e;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* How long a call may take, and what ends it early. */
struct patience {
	int64_t until;
	int stop_fd;
};

/* 0, or -ETIMEDOUT, -ECANCELED, -errno. */
static int wait_for(int fd, short events, const struct patience *patience)
{
	for (;;) {
		struct pollfd p[] = { { .fd = fd, .events = events },
				      { .fd = patience->stop_fd, .events = POLLIN } };
		int64_t left = patience->until - now_ms();
		int n = left > 0 ? poll(p, 2, (int)left) : 0;

		if (n > 0)
			return p[1].revents ? -ECANCELED : 0;
		if (!n)
			return -ETIMEDOUT;
		if (errno != EINTR)
			return -errno;
	}
}

static int connect_to(const struct sockaddr *to, socklen_t size, const struct patience *until)
{
	int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), e = 0;
	socklen_t n = sizeof(e);

	if (fd < 0)
		return -errno;
	if (connect(fd, to, size) < 0) {
		e = errno == EINPROGRESS ? wait_for(fd, POLLOUT, until) : -errno;
		if (!e && !getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &n))
			e = -e;
	}
	if (!e)
		return fd;
	close(fd);
	return e;
}

static int connect_unix(const struct http_address *a, const struct patience *until)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	memcpy(to.sun_path, a->socket, sizeof(to.sun_path));
	return connect_to((const struct sockaddr *)&to, sizeof(to), until);
}

static int connect_host(const struct http_address *a, const struct patience *until, struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
	int fd = -ENOENT, e = getaddrinfo(a->host, a->port, &hints, &list);

	if (e)
		return err_set(err, -ENOENT, "%s: %s", a->host, gai_strerror(e));
	for (const struct addrinfo *i = list; i && fd < 0; i = i->ai_next)
		fd = connect_to(i->ai_addr, i->ai_addrlen, until);
	freeaddrinfo(list);
	return fd < 0 ? err_set(err, fd, "%s:%s: %s", a->host, a->port, strerror(-fd)) : fd;
}

static int send_all(int fd, const struct buf *request, const struct patience *until)
{
	size_t done = 0;

	while (done < request->size) {
		ssize_t n = send(fd, request->data + done, request->size - done, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN) {
			int e = wait_for(fd, POLLOUT, until);

			if (e)
				return e;
		} else if (n < 0 && errno != EINTR) {
			return -errno;
		} else if (n > 0) {
			done += (size_t)n;
		}
	}
	return 0;
}

/* Parsing begins anew with each piece that comes only until the head says how long it is; after
 * that, answers of a megabyte come in few pieces. */
static int receive(struct http_call *c, int fd, const struct patience *until, struct err *err)
{
	struct buf *body = c->body;
	struct buf text = { 0 };
	size_t next = 1;
	int e = 0;

	while (!e) {
		ssize_t n;

		buf_reserve(&text, BLOCK);
		n = recv(fd, text.data + text.size, BLOCK, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			/* Nothing more for now: perhaps that was all. */
			e = text.size ? http_parse_reply(text.data, text.size, false, &c->status,
							 body, err)
				      : 0;
			if (!e)
				e = wait_for(fd, POLLIN, until);
			if (e == -ETIMEDOUT)
				e = err_set(err, e, "no answer in time");
			else if (e == -ECANCELED)
				e = err_set(err, e, "it was not waited for");
			continue;
		}
		if (n < 0) {
			e = err_set(err, -errno, "%s", strerror(errno));
			break;
		}
		text.size += (size_t)n;
		if (text.size > ANSWER_MAX + HEAD_MAX)
			e = bad(err, "it has no end");
		else if (!n || text.size >= next) {
			e = http_parse_reply(text.data, text.size, !n, &c->status, body, err);
			next = text.size * 2;
		}
	}
	buf_release(&text);
	return e < 0 ? e : 0;
}

static void put_request(struct buf *request, const struct http_call *c)
{
	const struct http_address *a = c->address;
	bool six = strchr(a->host, ':') != NULL;

	buf_printf(request, "%s %s HTTP/1.1\r\nHost: %s%s%s", c->method,
		   *a->target ? a->target : "/", six ? "[" : "", *a->host ? a->host : "localhost",
		   six ? "]" : "");
	/* As RFC 9110 has it: with the port unless it is the usual one.  A socket has none. */
	if (*a->host && strcmp(a->port, "80") != 0)
		buf_printf(request, ":%s", a->port);
	buf_text(request, "\r\nUser-Agent: memoir/" MEMOIR_VERSION
			  "\r\nAccept: */*\r\nConnection: close\r\n");
	if (c->token && *c->token)
		buf_printf(request, "Authorization: Bearer %s\r\n", c->token);
	if (c->type)
		buf_printf(request, "Content-Type: %s\r\n", c->type);
	if (strcmp(c->method, "GET") != 0)
		buf_printf(request, "Content-Length: %zu\r\n", c->content ? c->content->size : 0);
	buf_text(request, "\r\n");
	if (c->content && c->content->size)
		buf_add(request, c->content->data, c->content->size);
}

int http_call(struct http_call *c, struct err *err)
{
	const struct http_address *a = c->address;
	const struct patience until = { now_ms() + c->timeout_ms, c->stop_fd };
	auto_close int fd = *a->socket ? connect_unix(a, &until) : connect_host(a, &until, err);
	struct buf request = { 0 };
	int sent, got = 0;

	if (fd < 0)
		return *a->socket ? err_set(err, fd, "%s: %s", a->socket, strerror(-fd)) : fd;
	put_request(&request, c);
	sent = send_all(fd, &request, &until);
	buf_release(&request);
	/* Who does not want all of it answers early and closes: that answer says why. */
	if (!sent || sent == -EPIPE || sent == -ECONNRESET)
		got = receive(c, fd, &until, err);
	if (sent && (got || c->status / 100 == 2))
		return err_set(err, sent, "%s", strerror(-sent));
	return got;
}

static int want_success(struct http_call *c, struct err *err)
{
	int e = http_call(c, err);

	return !e && c->status / 100 != 2 ? other_status(c->status, c->body, err) : e;
}

int http_ask(const struct http_address *a, const char *method, const char *token, int timeout_ms,
	     struct buf *body, struct err *err)
{
	return want_success(&(struct http_call){ .address = a,
						 .method = method,
						 .token = token,
						 .timeout_ms = timeout_ms,
						 .stop_fd = -1,
						 .body = body },
			    err);
}

int http_post(const struct http_address *a, const char *type, const struct buf *content,
	      int timeout_ms, struct buf *answer, struct err *err)
{
	return want_success(&(struct http_call){ .address = a,
						 .method = "POST",
						 .type = type,
						 .content = content,
						 .timeout_ms = timeout_ms,
						 .stop_fd = -1,
						 .body = answer },
			    err);
}

int http_get(const struct http_address *a, int timeout_ms, struct buf *body, struct err *err)
{
	return http_ask(a, "GET", NULL, timeout_ms, body, err);
}
