/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Announcements.  See announce.h.  Nothing here waits: a datagram that cannot be sent now is not
 * worth sending later. */
#include "stream/announce.h"

#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOPBACK_BROADCAST 0x7fffffffu /* 127.255.255.255 */

int announce_open(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1, error;

	if (fd < 0)
		return -errno;
	if (!setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof(one)))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static void send_to(int fd, const void *bytes, size_t size, struct in_addr address, uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr = address };

	(void)!sendto(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&to,
		      sizeof(to));
}

void announce_send(int fd, const void *bytes, size_t size, uint16_t port, bool others)
{
	struct in_addr loopback = { htonl(LOOPBACK_BROADCAST) };
	struct ifaddrs *list;

	send_to(fd, bytes, size, loopback, port);
	if (!others || getifaddrs(&list) < 0)
		return;
	for (struct ifaddrs *i = list; i; i = i->ifa_next) {
		struct sockaddr_in to;

		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !i->ifa_broadaddr ||
		    !(i->ifa_flags & IFF_UP) || !(i->ifa_flags & IFF_BROADCAST))
			continue;
		memcpy(&to, i->ifa_broadaddr, sizeof(to));
		send_to(fd, bytes, size, to.sin_addr, port);
	}
	freeifaddrs(list);
}

int announce_listen(uint64_t port, struct err *err)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd, one = 1, error;

	if (!port || port > 65535)
		return err_set(err, -EINVAL, "there is no port %" PRIu64, port);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(err, -errno, "no socket: %s", strerror(errno));
	/* Several receivers on one machine all hear what is broadcast. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(fd, (struct sockaddr *)&a, sizeof(a)))
		return fd;
	error = -errno;
	close(fd);
	return err_set(err, error, "cannot listen for announcements on port %" PRIu64 ": %s", port,
		       strerror(-error));
}

int announce_receive(int fd, void *bytes, size_t room, struct sockaddr_in *ret_from)
{
	socklen_t size = sizeof(*ret_from);
	ssize_t n;

	do
		n = recvfrom(fd, bytes, room, MSG_DONTWAIT, (struct sockaddr *)ret_from, &size);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return (int)n;
	return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
}
