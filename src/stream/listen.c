/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Listening.  See listen.h.  Addresses are numbers only: looking up a name may take long and loads
 * libraries, and this is done while the program waits. */
#include "stream/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 64

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool parse_address(const char *text, union address *a)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1)
		a->v4.sin_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &a->v6.sin6_addr) == 1)
		a->v6.sin6_family = AF_INET6;
	else
		return false;
	return true;
}

static socklen_t size_of(const union address *a)
{
	return a->any.sa_family == AF_INET ? sizeof(a->v4) : sizeof(a->v6);
}

static void set_port(union address *a, uint16_t port)
{
	if (a->any.sa_family == AF_INET)
		a->v4.sin_port = htons(port);
	else
		a->v6.sin6_port = htons(port);
}

static void describe(const union address *a, char where[LISTEN_WHERE])
{
	char text[INET6_ADDRSTRLEN] = "";

	if (a->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &a->v4.sin_addr, text, sizeof(text));
		if (a->v4.sin_addr.s_addr == htonl(INADDR_ANY))
			strcpy(text, "127.0.0.1");
		snprintf(where, LISTEN_WHERE, "%s:%u", text, ntohs(a->v4.sin_port));
	} else {
		inet_ntop(AF_INET6, &a->v6.sin6_addr, text, sizeof(text));
		if (IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr))
			strcpy(text, "::1");
		snprintf(where, LISTEN_WHERE, "[%s]:%u", text, ntohs(a->v6.sin6_port));
	}
}

/* One port.  With SO_REUSEADDR two processes may both bind it, and only one may then listen. */
static int try_port(union address *a, uint16_t port)
{
	int one = 1, error,
	    fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	set_port(a, port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(fd, &a->any, size_of(a)) && !listen(fd, BACKLOG))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

int listen_open(const char *address, uint64_t port, unsigned ports, uint16_t *ret_port,
		char where[LISTEN_WHERE], struct err *err)
{
	union address a;
	socklen_t size = sizeof(a);
	int fd = -EADDRINUSE;

	if (!parse_address(address, &a))
		return err_set(err, -EINVAL, "%s is not an address such as 127.0.0.1 or ::1",
			       address);
	if (port > 65535)
		return err_set(err, -EINVAL, "there is no port %" PRIu64, port);
	if (!port)
		ports = 1;
	for (unsigned i = 0; i < ports && port + i <= 65535; i++) {
		fd = try_port(&a, (uint16_t)(port + i));
		/* Ports below 1024 may be refused, and those behind them not. */
		if (fd != -EADDRINUSE && fd != -EACCES)
			break;
	}
	if (fd == -EADDRINUSE && port)
		return err_set(err, fd, "ports %" PRIu64 " to %" PRIu64 " of %s are all in use",
			       port, port + ports - 1 > 65535 ? 65535 : port + ports - 1, address);
	if (fd < 0)
		return err_set(err, fd, "cannot listen on %s: %s", address, strerror(-fd));
	if (getsockname(fd, &a.any, &size) < 0) {
		int error = -errno;

		close(fd);
		return err_set(err, error, "cannot listen on %s: %s", address, strerror(-error));
	}
	*ret_port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
	describe(&a, where);
	return fd;
}
