/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where the agent listens, and how that is made known: a line on stderr, and a file.
 *
 * The file is jemalloc.PID in memoir/ of the user's runtime folder ($XDG_RUNTIME_DIR, else
 * /run/user/UID) or in /tmp/memoir-UID, or in $MEMOIR_AGENT_FOLDER and nowhere else; folder and
 * file are the user's alone.  Its lines: the address, the token, the program. */
#include "agent/agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "peer/peer.h"

#define PORTS_TRIED 100
#define BACKLOG 64

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
	struct sockaddr_un local;
};

static void say_cannot(const char *why)
{
	agent_say("the agent cannot listen on %.100s: %s", agent.listen, why);
}

/* HOST:PORT; HOST is an address, in brackets if it is of IPv6. */
static bool parse_host_port(union address *a, socklen_t *ret_size)
{
	char host[64];
	const char *colon = strrchr(agent.listen, ':');
	size_t n = colon ? (size_t)(colon - agent.listen) : 0;
	char *end;
	long port = colon ? strtol(colon + 1, &end, 10) : -1;

	memset(a, 0, sizeof(*a));
	if (port < 0 || port > 65535 || end == colon + 1 || *end || n >= sizeof(host))
		return false;
	memcpy(host, agent.listen, n);
	host[n] = 0;
	if (!strcmp(host, "localhost") || !n)
		strcpy(host, "127.0.0.1");
	if (*host == '[' && host[n - 1] == ']') {
		host[n - 1] = 0;
		a->six.sin6_family = AF_INET6;
		a->six.sin6_port = htons((uint16_t)port);
		*ret_size = sizeof(a->six);
		agent.everywhere = strcmp(host + 1, "::1");
		snprintf(agent.host, sizeof(agent.host), "[%.45s]", host + 1);
		return inet_pton(AF_INET6, host + 1, &a->six.sin6_addr) == 1;
	}
	a->four.sin_family = AF_INET;
	a->four.sin_port = htons((uint16_t)port);
	*ret_size = sizeof(a->four);
	agent.everywhere = strncmp(host, "127.", 4);
	snprintf(agent.host, sizeof(agent.host), "%.45s", host);
	return inet_pton(AF_INET, host, &a->four.sin_addr) == 1;
}

static uint16_t *port_of(union address *a)
{
	return a->any.sa_family == AF_INET6 ? &a->six.sin6_port : &a->four.sin_port;
}

/* The port, or one of those behind it that is free. */
static int open_port(void)
{
	union address a, bound;
	socklen_t size, bound_size = sizeof(bound);
	int fd, one = 1, e = 0;
	unsigned first;

	if (!parse_host_port(&a, &size)) {
		say_cannot("that is neither ADDRESS:PORT nor unix:PATH");
		return -1;
	}
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		say_cannot(strerror(errno));
		return -1;
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	first = ntohs(*port_of(&a));
	for (unsigned i = 0; i < PORTS_TRIED && first + i <= 65535; i++) {
		*port_of(&a) = htons((uint16_t)(first + i));
		/* Two may bind the same port here; only one of them can listen. */
		e = bind(fd, &a.any, size) || listen(fd, BACKLOG) ? errno : 0;
		if (!e && !getsockname(fd, &bound.any, &bound_size)) {
			snprintf(agent.address, sizeof(agent.address), "http://%s:%u", agent.host,
				 ntohs(*port_of(&bound)));
			return fd;
		}
		if (e != EADDRINUSE || !first)
			break;
		close(fd);
		fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0)
			break;
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	}
	say_cannot(strerror(e));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* A socket that nobody answers on is a dead process's. */
static bool is_dead(const union address *a)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool dead = fd >= 0 && connect(fd, &a->any, sizeof(a->local)) && errno == ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return dead;
}

static int open_socket(const char *path)
{
	union address a = { .local = { .sun_family = AF_UNIX } };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), e = 0;
	struct stat st;

	for (int i = 0; i < 3 && fd >= 0; i++) {
		int n = snprintf(a.local.sun_path, sizeof(a.local.sun_path),
				 i == 2 ? "%s.%d" : "%s", path, (int)agent.pid);

		if (!*path || n >= (int)sizeof(a.local.sun_path)) {
			say_cannot("the path is empty, or too long for a socket");
			close(fd);
			return -1;
		}
		/* 0600 from the moment that it is there, whatever the program's umask is: that is
		 * the process's, and not ours to change. */
		fchmod(fd, 0600);
		e = bind(fd, &a.any, sizeof(a.local)) ? errno : 0;
		if (e == EADDRINUSE && (!lstat(a.local.sun_path, &st) && S_ISSOCK(st.st_mode)) &&
		    is_dead(&a))
			unlink(a.local.sun_path);
		else if (e != EADDRINUSE)
			break;
	}
	if (fd >= 0 && !e && (chmod(a.local.sun_path, 0600) || listen(fd, BACKLOG)))
		e = errno;
	if (fd < 0 || e) {
		say_cannot(strerror(fd < 0 ? errno : e));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	strcpy(agent.socket_path, a.local.sun_path);
	if (!stat(agent.socket_path, &st)) {
		agent.socket_device = st.st_dev;
		agent.socket_inode = st.st_ino;
	}
	agent.local = true;
	snprintf(agent.address, sizeof(agent.address), "unix:%s", agent.socket_path);
	return fd;
}

/* A folder of the user's own, made if it can be. */
static bool private_folder(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) && errno != EEXIST)
		return false;
	return !lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 077);
}

static bool choose_folder(char *out, size_t room)
{
	const char *only = getenv("MEMOIR_AGENT_FOLDER"), *runtime = getenv("XDG_RUNTIME_DIR");

	if (only && *only == '/')
		return snprintf(out, room, "%s", only) < (int)room && private_folder(out);
	if (runtime && *runtime == '/' && snprintf(out, room, "%s/memoir", runtime) < (int)room &&
	    private_folder(out))
		return true;
	snprintf(out, room, "/run/user/%u/memoir", (unsigned)geteuid());
	if (private_folder(out))
		return true;
	snprintf(out, room, "/tmp/memoir-%u", (unsigned)geteuid());
	return private_folder(out);
}

static void publish(void)
{
	char folder[128], temporary[200], lines[640];
	int fd, size;

	program_find();
	if (!choose_folder(folder, sizeof(folder)) ||
	    snprintf(agent.file_path, sizeof(agent.file_path), "%s/jemalloc.%d", folder,
		     (int)agent.pid) >= (int)sizeof(agent.file_path)) {
		agent.file_path[0] = 0;
		return;
	}
	/* Under another name first, so that nobody reads half of it. */
	snprintf(temporary, sizeof(temporary), "%s.new", agent.file_path);
	unlink(temporary);
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	size = snprintf(lines, sizeof(lines), "%s\n%s\n%s\n", agent.address, agent.token,
			agent.program);
	if (fd < 0 || write(fd, lines, (size_t)size) != size || rename(temporary, agent.file_path))
		agent.file_path[0] = 0;
	if (fd >= 0)
		close(fd);
}

bool listen_open(void)
{
	bool local = !strncmp(agent.listen, "unix:", 5);

	agent.listener = agent_fd_own(local ? open_socket(agent.listen + 5) : open_port());
	if (agent.listener.fd < 0)
		return false;
	/* Now, and not when somebody asks: the program may forbid itself new sockets until then. */
	if (!local && !agent.open_to_all && !agent_fd_good(&agent.asking))
		agent.asking = agent_fd_own(peer_open());
	publish();
	agent_say("the agent of process %d listens on %s", (int)agent.pid, agent.address);
	return true;
}

void listen_forget(void)
{
	struct stat st;

	log_forget();
	if (agent.file_path[0])
		unlink(agent.file_path);
	/* Somebody else may have taken the place. */
	if (agent.socket_path[0] && !lstat(agent.socket_path, &st) &&
	    st.st_dev == agent.socket_device && st.st_ino == agent.socket_inode)
		unlink(agent.socket_path);
	agent.file_path[0] = agent.socket_path[0] = 0;
}
