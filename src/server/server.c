/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The server's life.  See server.h. */
#include "server/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/xalloc.h"
#include "server/agent_sessions.h"
#include "server/answer_cache.h"
#include "server/ending.h"
#include "server/http.h"
#include "server/library.h"
#include "server/links.h"
#include "server/prefetch.h"
#include "server/runs.h"
#include "server/script_files.h"
#include "server/stream.h"
#include "server/upload.h"

#define PORTS 100 /* that are tried */
#define BACKLOG 512
#define ANSWER_CACHE_MAX (256ull << 20) /* bytes of cached answers */
#define ANSWER_CACHE_SHARE 32		/* of the memory: at most one in so many bytes */
#define FILES_MIN 4096

static struct addrinfo *resolve(const char *address, struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *found;
	int error = getaddrinfo(address, NULL, &hints, &found);

	if (!error)
		return found;
	err_set(err, -EINVAL, "'%s' is not an address: %s", address, gai_strerror(error));
	return NULL;
}

static bool is_loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >>
			       24 ==
		       127;
	return a->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

bool server_is_loopback(const char *address)
{
	struct addrinfo *a = resolve(address, NULL);
	bool loopback = a && is_loopback(a->ai_addr);

	if (a)
		freeaddrinfo(a);
	return loopback;
}

static void set_port(struct sockaddr *a, uint16_t port)
{
	if (a->sa_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)a)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)(void *)a)->sin_port = htons(port);
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage a = { 0 };
	socklen_t size = sizeof(a);

	if (getsockname(fd, (struct sockaddr *)&a, &size) < 0)
		return 0;
	return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
					     : ((struct sockaddr_in *)&a)->sin_port);
}

/* A socket that listens, or -errno. */
static int listen_at(struct addrinfo *a, uint16_t port)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	set_port(a->ai_addr, port);
	if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, BACKLOG))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static int open_socket(struct server *s, struct err *err)
{
	const struct server_options *o = &s->options;
	struct addrinfo *a = resolve(o->address, err);
	unsigned tries = o->next_port && o->port ? PORTS : 1;
	int fd = -EADDRINUSE;

	if (!a)
		return -EINVAL;
	s->loopback = is_loopback(a->ai_addr);
	for (unsigned i = 0; i < tries && fd == -EADDRINUSE && o->port + i <= UINT16_MAX; i++)
		fd = listen_at(a, (uint16_t)(o->port + i));
	freeaddrinfo(a);
	if (fd >= 0) {
		s->port = port_of(fd);
		return fd;
	}
	return err_set(err, fd, "cannot listen at %s port %u: %s", o->address, o->port,
		       strerror(-fd));
}

/* Each connection is an open file. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FILES_MIN)
		return;
	limit.rlim_cur = limit.rlim_max < FILES_MIN ? limit.rlim_max : FILES_MIN;
	setrlimit(RLIMIT_NOFILE, &limit);
}

struct server *server_new(const struct server_options *o, struct err *err)
{
	struct server *s = xcalloc(1, sizeof(*s));
	struct timespec t;

	s->options = *o;
	clock_gettime(CLOCK_REALTIME, &t);
	s->nonce = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	if (gethostname(s->host_name, sizeof(s->host_name) - 1) < 0)
		s->host_name[0] = 0;
	s->library = library_new(&o->names);
	s->agent_sessions = agent_sessions_new();
	gate_init(&s->gate, parallel_workers());
	s->uploads = uploads_new();
	s->runs = runs_new();
	s->script_files = script_files_new(s->nonce);
	return s;
}

static void recording_ready(void *server, struct snapshot *recording)
{
	prefetch_first_views(server, recording);
}

int server_start(struct server *s, struct err *err)
{
	uint64_t limit = memory_limit() / ANSWER_CACHE_SHARE;
	int fd, error;

	raise_file_limit();
	fd = open_socket(s, err);
	if (fd < 0)
		return fd;
	s->links = links_new();
	s->answer_cache = answer_cache_new(&s->gate, parallel_workers() + 1,
					   limit < ANSWER_CACHE_MAX ? limit : ANSWER_CACHE_MAX);
	s->streams = streams_new(&s->gate);
	library_on_ready(s->library, recording_ready, s);
	error = http_start(s, fd, err);
	if (error) {
		close(fd);
		return error;
	}
	error = library_start(s->library);
	return error ? err_set(err, error, "cannot start a thread: %s", strerror(-error)) : 0;
}

/* In an order in which nobody is left who could begin something new: see server.h. */
static bool stop_threads(struct server *s, const struct timespec *deadline)
{
	bool ended;

	http_quiesce(s);
	ended = library_stop(s->library, deadline);
	if (s->answer_cache)
		ended &= answer_cache_stop(s->answer_cache, deadline);
	if (s->streams)
		ended &= streams_stop(s->streams, deadline);
	ended &= runs_stop(s->runs, deadline);
	ended &= agent_sessions_stop(s->agent_sessions, deadline);
	http_stop(s);
	return ended;
}

bool server_stop(struct server *s, unsigned patience_ms)
{
	struct timespec deadline = ending_deadline(patience_ms);

	if (stop_threads(s, &deadline))
		return true;
	library_unlink_uploads(s->library);
	s->uploads = uploads_free(s->uploads);
	return false;
}

struct server *server_free(struct server *s)
{
	if (!s)
		return NULL;
	stop_threads(s, NULL);
	s->agent_sessions = agent_sessions_free(s->agent_sessions);
	s->streams = streams_free(s->streams);
	s->answer_cache = answer_cache_free(s->answer_cache);
	s->runs = runs_free(s->runs);
	s->script_files = script_files_free(s->script_files);
	s->links = links_free(s->links);
	s->library = library_free(s->library);
	s->uploads = uploads_free(s->uploads);
	gate_release(&s->gate);
	free(s);
	return NULL;
}
