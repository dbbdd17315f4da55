/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where to receive from.  See target.h. */
#include "stream/target.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "stream/protocol.h"

static bool is_port(const char *text, size_t size)
{
	unsigned long value = 0;

	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (unsigned long)(text[i] - '0');
		if (value > 65535)
			return false;
	}
	return value != 0;
}

/* Splits into host and port, either of which may be missing; false if it is neither. */
static bool split(const char *text, char **ret_host, const char **ret_port)
{
	const char *host = text, *colon = strrchr(text, ':'), *port = colon ? colon + 1 : NULL;
	size_t size = colon ? (size_t)(colon - text) : strlen(text);

	if (text[0] == '[') {
		const char *end = strchr(text, ']');

		if (!end || (end[1] && end[1] != ':'))
			return false;
		host++;
		size = (size_t)(end - host);
		port = end[1] ? end + 2 : NULL;
	} else if (colon && strchr(text, ':') != colon) {
		size = strlen(text); /* an address of IPv6 without brackets has no port */
		port = NULL;
	} else if (!colon && is_port(text, size)) {
		port = text;
		size = 0;
	}
	if (port && !is_port(port, strlen(port)))
		return false;
	if (!size && !port)
		return false;
	*ret_host = size ? xmemdup0(host, size) : xstrdup("localhost");
	*ret_port = port;
	return true;
}

int target_parse(struct stream_target *t, const char *text, struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	auto_free char *host = NULL;
	char number[12];
	const char *port;
	int error;

	*t = (struct stream_target){ NULL };
	if (!split(text, &host, &port))
		return err_set(err, -EINVAL, "'%s' is not HOST:PORT", text);
	snprintf(number, sizeof(number), "%u", STREAM_PORT);
	error = getaddrinfo(host, port ? port : number, &hints, &t->addresses);
	if (error) {
		t->addresses = NULL;
		return err_set(err, -ENOENT, "%s: %s", text, gai_strerror(error));
	}
	t->text = xstrdup(text);
	return 0;
}

void target_release(struct stream_target *t)
{
	if (t->addresses)
		freeaddrinfo(t->addresses);
	free(t->text);
	*t = (struct stream_target){ NULL };
}

int target_connect(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;
	int one = 1, idle_s = 30, every_s = 10, times = 6;

	if (fd < 0)
		return -errno;
	/* A sender that vanished without a word is found out. */
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
	if (!connect(fd, a->ai_addr, a->ai_addrlen) || errno == EINPROGRESS)
		return fd;
	error = -errno;
	close(fd);
	return error;
}
