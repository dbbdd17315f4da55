/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The thread that sends a recording to clients.  See serve.h.
 *
 * Only this thread touches sockets and clients; what it shares with the collector is atomic, and an
 * eventfd wakes it.  It never runs out of memory in a way that matters: a client that there is no
 * room for is refused. */
#include "stream/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buf_type.h"
#include "base/now.h"
#include "base/secret.h"
#include "peer/peer.h"
#include "stream/announce.h"
#include "stream/listen.h"

#define SECOND_NS 1000000000ull
#define TURN_FRAMES 8	  /* that one client gets before the next one's turn */
#define PATIENCE_TOTAL 30 /* times the patience: with all clients together, after the end */
#define STACK_SIZE (256u << 10)
#define TOKEN_NS (10 * SECOND_NS) /* for a stranger to say the token */
#define REFUSED_NS SECOND_NS	  /* without descriptors or memory: before the next try */

struct client {
	int fd;
	bool stranger; /* it has to say the token first */
	uint16_t said_size;
	char said[STREAM_TOKEN_HEAD + STREAM_TOKEN_MAX];
	size_t hello_sent;
	uint64_t position; /* in the file */
	uint32_t left;	   /* of the open frame's bytes */
	uint8_t head[STREAM_FRAME + STREAM_END];
	uint8_t head_size, head_sent;
	bool ended, shut; /* its END was begun; it was sent */
	uint64_t progress_ns;
};

struct serve {
	pthread_t thread;
	int file_fd, listen_fd, wake_fd, announce_fd;
	struct buf hello, announcement;
	uint64_t announced_ns, announce_port, refused_ns, patience_ns, over_ns;
	bool others; /* reach it, not only this machine */
	bool open_to_all;
	char token[SECRET_SIZE];
	uint32_t strangers; /* among the clients */
	char where[LISTEN_WHERE];

	_Atomic uint64_t size;	 /* of the file that is there to stay */
	_Atomic uint32_t over;	 /* OVER_… */
	_Atomic uint32_t stop;	 /* leave now */
	_Atomic uint32_t busy;	 /* clients */
	_Atomic uint32_t served; /* clients that had everything when they left */
	_Atomic uint32_t gone;	 /* the thread has nothing more to do */

	struct client *clients;
	struct pollfd *polls;
	size_t count, room;
};

enum { OVER_NOT, OVER_CUT, OVER_WHOLE };
enum { POLL_WAKE, POLL_LISTEN, POLL_CLIENTS };

/* The head of a frame, to be sent before `left` bytes of the file. */
static void begin_frame(struct client *c, enum stream_frame_type type, uint32_t size)
{
	stream_put32(c->head, type);
	stream_put32(c->head + 4, size);
	c->head_size = STREAM_FRAME;
	c->head_sent = 0;
}

/* Is there anything to send?  Begins the next frame if so. */
static bool next_frame(struct serve *s, struct client *c)
{
	/* The end before the size: that is then the last one. */
	uint32_t over = atomic_load(&s->over);
	uint64_t rest = atomic_load(&s->size) - c->position;

	if (rest) {
		c->left = rest < STREAM_FRAME_MAX ? (uint32_t)rest : STREAM_FRAME_MAX;
		begin_frame(c, FRAME_DATA, c->left);
		return true;
	}
	if (over == OVER_NOT || c->ended)
		return false;
	begin_frame(c, FRAME_END, STREAM_END);
	stream_put64(c->head + STREAM_FRAME, c->position);
	stream_put32(c->head + STREAM_FRAME + 8, over == OVER_WHOLE);
	c->head_size = sizeof(c->head);
	c->ended = true;
	return true;
}

/* Bytes of the file: by the kernel alone where the file system can. */
static ssize_t send_file(struct serve *s, struct client *c)
{
	off_t offset = (off_t)c->position;
	ssize_t n = sendfile(c->fd, s->file_fd, &offset, c->left);
	char piece[16384];

	if (n >= 0 || (errno != EINVAL && errno != ENOSYS))
		return n;
	n = pread(s->file_fd, piece, c->left < sizeof(piece) ? c->left : sizeof(piece),
		  (off_t)c->position);
	return n > 0 ? send(c->fd, piece, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) : n;
}

/* Sends a part of what comes next: the bytes, 0 where there is nothing, or -1 with errno.  A file
 * that is shorter than it was is nobody's any more. */
static ssize_t send_part(struct serve *s, struct client *c)
{
	const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
	ssize_t n;

	if (c->hello_sent < s->hello.size) {
		n = send(c->fd, s->hello.data + c->hello_sent, s->hello.size - c->hello_sent,
			 flags);
		c->hello_sent += n > 0 ? (size_t)n : 0;
		return n;
	}
	if (c->head_sent == c->head_size && !c->left && !next_frame(s, c))
		return 0;
	if (c->head_sent < c->head_size) {
		n = send(c->fd, c->head + c->head_sent, (size_t)(c->head_size - c->head_sent),
			 flags | (c->left ? MSG_MORE : 0));
		c->head_sent = (uint8_t)(c->head_sent + (n > 0 ? n : 0));
		return n;
	}
	n = send_file(s, c);
	if (!n)
		errno = EPIPE;
	if (n <= 0)
		return -1;
	c->position += (uint64_t)n;
	c->left -= (uint32_t)n;
	return n;
}

static bool waits(const struct serve *s, const struct client *c)
{
	return !c->stranger &&
	       (c->hello_sent < s->hello.size || c->head_sent < c->head_size || c->left ||
		atomic_load(&s->size) > c->position || (atomic_load(&s->over) && !c->ended));
}

/* Sends what the client takes now; false if it is lost. */
static bool advance(struct serve *s, struct client *c, uint64_t now)
{
	for (int i = 0; i < 2 * TURN_FRAMES; i++) {
		ssize_t n = send_part(s, c);

		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
		if (n)
			c->progress_ns = now;
		else
			break;
	}
	/* It closes when it has read everything: then nothing can be lost on the way any more. */
	if (c->ended && !c->shut && !waits(s, c)) {
		shutdown(c->fd, SHUT_WR);
		c->shut = true;
	}
	return true;
}

/* A client has nothing to say; what it says is thrown away.  False when it has left. */
static bool listens(struct client *c)
{
	char scrap[512];

	for (int i = 0; i < 64; i++) {
		ssize_t n = recv(c->fd, scrap, sizeof(scrap), MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
		if (!n)
			return false;
	}
	return true;
}

/* What a stranger has said so far: 1 the token, 0 not all of it, -1 something else, or it left. */
static int hear_token(const struct serve *s, struct client *c)
{
	ssize_t n =
		recv(c->fd, c->said + c->said_size, sizeof(c->said) - c->said_size, MSG_DONTWAIT);
	uint32_t size;

	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
	if (!n)
		return -1;
	c->said_size = (uint16_t)(c->said_size + n);
	if (memcmp(c->said, STREAM_TOKEN_MAGIC, c->said_size < 8 ? c->said_size : 8))
		return -1;
	if (c->said_size < STREAM_TOKEN_HEAD)
		return 0;
	size = stream_get32((const uint8_t *)c->said + 8);
	if (size > STREAM_TOKEN_MAX || c->said_size > STREAM_TOKEN_HEAD + size)
		return -1;
	if (c->said_size < STREAM_TOKEN_HEAD + size)
		return 0;
	return s->token[0] && secret_same(c->said + STREAM_TOKEN_HEAD, size, s->token) ? 1 : -1;
}

/* Is a stranger worth waiting for?  One that is not gets a refusal.  At the end it has a second:
 * its token may be on the way. */
static bool is_admitted(struct serve *s, struct client *c, uint64_t now)
{
	auto_buf struct buf refusal = { 0 };
	int heard = hear_token(s, c);

	if (heard > 0) {
		c->stranger = false;
		c->progress_ns = now;
		s->strangers--;
		return true;
	}
	if (!heard && now - c->progress_ns < (s->over_ns ? SECOND_NS : TOKEN_NS))
		return true;
	stream_put_refusal(&refusal);
	(void)!send(c->fd, refusal.data, refusal.size, MSG_DONTWAIT | MSG_NOSIGNAL);
	return false;
}

static void set_socket(int fd)
{
	int one = 1, idle_s = 30, every_s = 10, times = 6;

	/* A receiver that vanished without a word is found out, though nothing may be sent. */
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
}

static bool make_room(struct serve *s)
{
	size_t room = s->room ? s->room * 2 : 8;
	struct client *clients;
	struct pollfd *polls;

	if (s->count < s->room)
		return true;
	clients = realloc(s->clients, room * sizeof(*clients));
	if (clients)
		s->clients = clients;
	polls = realloc(s->polls, (POLL_CLIENTS + room) * sizeof(*polls));
	if (polls)
		s->polls = polls;
	if (!clients || !polls)
		return false;
	s->room = room;
	return true;
}

static void accept_clients(struct serve *s, uint64_t now)
{
	for (;;) {
		int fd;

		if (!make_room(s)) {
			s->refused_ns = now;
			return;
		}
		fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0) {
			if (errno != EAGAIN && errno != EWOULDBLOCK)
				s->refused_ns = now;
			return;
		}
		set_socket(fd);
		s->clients[s->count++] = (struct client){
			.fd = fd,
			.progress_ns = now,
			.stranger = !s->open_to_all && !peer_is_ours(fd),
		};
		s->strangers += s->clients[s->count - 1].stranger;
		/* Before the file's size is looked at: see serve_grow(). */
		atomic_store(&s->busy, (uint32_t)s->count);
	}
}

static void drop(struct serve *s, size_t i)
{
	s->strangers -= s->clients[i].stranger;
	close(s->clients[i].fd);
	s->clients[i] = s->clients[--s->count];
	atomic_store(&s->busy, (uint32_t)s->count);
}

static bool given_up(const struct serve *s, const struct client *c, uint64_t now)
{
	uint64_t since = c->progress_ns > s->over_ns ? c->progress_ns : s->over_ns;

	return s->over_ns && (now - since >= s->patience_ns ||
			      now - s->over_ns >= PATIENCE_TOTAL * s->patience_ns);
}

static void serve_clients(struct serve *s, uint64_t now)
{
	for (size_t i = s->count; i--;) {
		struct client *c = &s->clients[i];

		if (c->stranger) {
			if (!is_admitted(s, c, now))
				drop(s, i);
		} else if (!listens(c)) {
			if (c->shut)
				atomic_fetch_add(&s->served, 1);
			drop(s, i);
		} else if (!advance(s, c, now) || given_up(s, c, now)) {
			drop(s, i);
		}
	}
}

/* When there is something to do though nothing happens, in milliseconds; -1: never. */
static int timeout_ms(const struct serve *s, uint64_t now)
{
	if (s->over_ns)
		return 100;
	if (s->refused_ns || s->strangers)
		return 100;
	if (s->announce_fd < 0)
		return -1;
	if (now - s->announced_ns >= ANNOUNCE_EVERY_NS)
		return 0;
	return (int)((ANNOUNCE_EVERY_NS - (now - s->announced_ns)) / 1000000) + 1;
}

static void wait_for_something(struct serve *s, uint64_t now)
{
	uint64_t count;

	s->polls[POLL_WAKE] = (struct pollfd){ .fd = s->wake_fd, .events = POLLIN };
	s->polls[POLL_LISTEN] =
		(struct pollfd){ .fd = s->refused_ns ? -1 : s->listen_fd, .events = POLLIN };
	for (size_t i = 0; i < s->count; i++)
		s->polls[POLL_CLIENTS + i] = (struct pollfd){
			.fd = s->clients[i].fd,
			.events = (short)(POLLIN | (waits(s, &s->clients[i]) ? POLLOUT : 0)),
		};
	if (poll(s->polls, POLL_CLIENTS + s->count, timeout_ms(s, now)) > 0 &&
	    s->polls[POLL_WAKE].revents)
		(void)!read(s->wake_fd, &count, sizeof(count));
}

static void *serve_thread(void *argument)
{
	struct serve *s = argument;

	while (!atomic_load(&s->stop)) {
		uint64_t now = now_ns();

		if (atomic_load(&s->over) && !s->over_ns)
			s->over_ns = now;
		if (s->refused_ns && now - s->refused_ns >= REFUSED_NS)
			s->refused_ns = 0;
		if (!s->refused_ns)
			accept_clients(s, now);
		serve_clients(s, now);
		if (s->over_ns && !s->count)
			break;
		if (s->announce_fd >= 0 && !s->over_ns &&
		    now - s->announced_ns >= ANNOUNCE_EVERY_NS) {
			s->announced_ns = now;
			announce_send(s->announce_fd, s->announcement.data, s->announcement.size,
				      (uint16_t)s->announce_port, s->others);
		}
		wait_for_something(s, now);
	}
	while (s->count)
		drop(s, s->count - 1);
	close(s->listen_fd);
	s->listen_fd = -1;
	atomic_store(&s->gone, 1);
	return NULL;
}

static int start_thread(struct serve *s)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int error = pthread_attr_init(&attributes);

	if (error)
		return -error;
	/* Programs with little address space have collectors with little of it. */
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	/* The launcher's signals are its first thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&s->thread, &attributes, serve_thread, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -error;
}

static struct serve *release(struct serve *s)
{
	const int fds[] = { s->file_fd, s->listen_fd, s->wake_fd, s->announce_fd };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	buf_release(&s->hello);
	buf_release(&s->announcement);
	free(s->clients);
	free(s->polls);
	free(s);
	return NULL;
}

static bool only_here(const char *address)
{
	return !strncmp(address, "127.", 4) || !strcmp(address, "::1");
}

static int open_all(struct serve *s, int fd, const struct stream_hello *hello,
		    const struct serve_options *o, struct err *err)
{
	struct stream_hello full = *hello;
	char path[40];
	uint16_t port = 0;

	/* Not the same open file: its lock ends when the collector closes it. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	s->file_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s->file_fd < 0)
		return err_set(err, -errno, "the recording cannot be read back: %s",
			       strerror(errno));
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake_fd < 0)
		return err_set(err, -errno, "no eventfd: %s", strerror(errno));
	s->listen_fd = listen_open(o->address, o->port, STREAM_PORTS, &port, s->where, err);
	if (s->listen_fd < 0)
		return s->listen_fd;
	full.port = port;
	stream_put_hello(&s->hello, &full);
	stream_put_announcement(&s->announcement, &full);
	/* Announcements are IPv4's: who listens on one address of IPv6 is not found by them. */
	if (o->announce && (!strchr(o->address, ':') || !strcmp(o->address, "::")))
		s->announce_fd = announce_open();
	if (o->announce && s->announce_fd < 0)
		err_set(err, 0, "the stream is not announced: %s",
			strchr(o->address, ':') ? "announcements are IPv4's"
						: strerror(-s->announce_fd));
	return 0;
}

int serve_start(struct serve **ret_serve, int fd, const struct stream_hello *hello,
		const struct serve_options *o, struct err *err)
{
	struct serve *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return err_set(err, -ENOMEM, "no memory");
	s->file_fd = s->listen_fd = s->wake_fd = s->announce_fd = -1;
	s->announce_port = o->announce_port;
	s->patience_ns = (o->patience_s < 86400 ? o->patience_s : 86400) * SECOND_NS;
	s->others = !only_here(o->address);
	s->open_to_all = o->open_to_all;
	if (o->token)
		snprintf(s->token, sizeof(s->token), "%s", o->token);
	err_set(err, 0, "%s", "");
	error = make_room(s) ? open_all(s, fd, hello, o, err) : err_set(err, -ENOMEM, "no memory");
	if (!error && (error = start_thread(s)))
		err_set(err, error, "no thread: %s", strerror(-error));
	if (error) {
		release(s);
		return error;
	}
	*ret_serve = s;
	return 0;
}

const char *serve_where(const struct serve *s)
{
	return s->where;
}

static void wake(struct serve *s)
{
	uint64_t one = 1;

	(void)!write(s->wake_fd, &one, sizeof(one));
}

/* Either a client that came is counted here, or the size that is stored here is seen by it. */
void serve_grow(struct serve *s, uint64_t size)
{
	if (size == atomic_load_explicit(&s->size, memory_order_relaxed))
		return;
	atomic_store(&s->size, size);
	if (atomic_load(&s->busy))
		wake(s);
}

void serve_end(struct serve *s, uint64_t size, bool whole)
{
	atomic_store(&s->size, size);
	atomic_store(&s->over, whole ? OVER_WHOLE : OVER_CUT);
	wake(s);
}

unsigned serve_busy(struct serve *s)
{
	return atomic_load(&s->busy);
}

unsigned serve_served(struct serve *s)
{
	return atomic_load(&s->served);
}

bool serve_wait(struct serve *s, uint64_t timeout_ns)
{
	uint64_t start = now_ns();

	while (!atomic_load(&s->gone)) {
		if (now_ns() - start >= timeout_ns)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	return true;
}

struct serve *serve_free(struct serve *s)
{
	if (!s)
		return NULL;
	atomic_store(&s->stop, 1);
	wake(s);
	pthread_join(s->thread, NULL);
	return release(s);
}
