/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The agent's thread: connections, each with one request and one answer, or several where the
 * client asks for that.
 *
 * It sleeps in poll() without a limit while there is no connection.  A client has so many seconds
 * for its request and for taking each part of the answer; a few clients at a time, the next one is
 * told to come back.  Requests are answered one after the other, so there is never more than one
 * dump at a time. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/answer.h"
#include "agent/repeat.h"

#define CLIENTS_MAX 16u
#define REQUEST_TIME_MS 10000
#define PATIENCE_MS 1000     /* of it, while others wait for a place */
#define ANSWER_TIME_MS 30000 /* without any progress */
#define DRAIN_TIME_MS 1000
#define READ_SIZE 16384u
#define SPARE_TIME_MS 250
#define LOOK_TIME_MS 100 /* at the other threads, when the first has left */

enum client_state { FREE, READING, WAITING, WRITING, DRAINING };

struct client {
	enum client_state state;
	struct agent_fd socket;
	struct text in, head;
	struct exchange x;
	size_t sent; /* of head, then of what is in x.out */
	bool keep;   /* another request may come behind this answer */
	bool served; /* one has been answered */
	bool unread; /* there may be more of the request: closing at once would lose the answer */
	int64_t until;
};

static struct client clients[CLIENTS_MAX];

static void release(struct client *c)
{
	agent_fd_close(&c->socket);
	text_release(&c->in);
	text_release(&c->head);
	text_release(&c->x.out);
	text_release(&c->x.earlier);
	memset(c, 0, sizeof(*c));
	c->socket.fd = -1;
}

void serve_close_in_child(void)
{
	for (unsigned i = 0; i < CLIENTS_MAX; i++)
		if (clients[i].state != FREE)
			release(&clients[i]);
	repeat_forget();
	text_let_go();
}

unsigned serve_waiting(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < CLIENTS_MAX; i++)
		n += clients[i].state == WAITING;
	return n;
}

static const char *reason(int status)
{
	static const struct {
		int status;
		const char *words;
	} rows[] = {
		{ 200, "OK" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 408, "Request Timeout" },
		{ 409, "Conflict" },
		{ 413, "Content Too Large" },
		{ 414, "URI Too Long" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 503, "Service Unavailable" },
		{ 505, "HTTP Version Not Supported" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].status == status)
			return rows[i].words;
	return "Error";
}

static void put_head(struct text *head, const struct exchange *x, bool keep)
{
	text_printf(head,
		    "HTTP/1.1 %d %s\r\nServer: memoir/" MEMOIR_VERSION
		    "\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%s"
		    "Connection: %s\r\n\r\n",
		    x->status, reason(x->status), x->type ? x->type : "text/plain", x->out.size,
		    x->header ? x->header : "", keep ? "keep-alive" : "close");
}

/* What has come behind the request that is answered. */
static void drop_request(struct client *c)
{
	size_t size = c->x.request.head_size + c->x.request.body_size;

	if (!c->keep || c->in.size <= size) {
		text_release(&c->in);
		return;
	}
	memmove(c->in.data, c->in.data + size, c->in.size - size);
	c->in.size -= size;
}

/* The answer is in x: sends it from now on. */
static void begin_answer(struct client *c)
{
	if (c->x.out.failed) {
		text_release(&c->x.out);
		answer_line(&c->x, 503, "no memory for the answer");
	}
	if (c->x.status >= 400)
		agent.refused++;
	c->keep = c->x.request.keep_alive && !c->unread;
	put_head(&c->head, &c->x, c->keep);
	if (!strcmp(c->x.request.method, "HEAD"))
		c->x.out.size = 0;
	c->state = WRITING;
	c->until = agent_now_ms() + ANSWER_TIME_MS;
	drop_request(c);
	if (c->head.failed)
		release(c);
}

static void refuse(struct client *c, int status, const char *why)
{
	c->unread = true;
	answer_line(&c->x, status, "%s", why);
	begin_answer(c);
}

static void go_on(struct client *c)
{
	if (c->x.again) {
		c->state = WAITING;
		c->until = agent_now_ms() + c->x.wait_ms;
		return;
	}
	begin_answer(c);
}

/* As much of a request as has come. */
static void read_request(struct client *c)
{
	const char *why;
	int e = request_parse(&c->x.request, c->in.data, c->in.size, &why);

	if (e < 0) {
		refuse(c, -e, why);
		return;
	}
	if (!e)
		return;
	if (c->in.size - c->x.request.head_size < c->x.request.body_size) {
		/* Not sent twice: by the next time there is some of the body. */
		if (c->x.request.expects_continue && c->in.size == c->x.request.head_size)
			send(c->socket.fd, "HTTP/1.1 100 Continue\r\n\r\n", 25,
			     MSG_NOSIGNAL | MSG_DONTWAIT);
		return;
	}
	c->x.body = c->in.data + c->x.request.head_size;
	agent.requests++;
	routes_answer(&c->x);
	go_on(c);
}

static void read_some(struct client *c)
{
	ssize_t n;

	if (!text_reserve(&c->in, READ_SIZE)) {
		release(c);
		return;
	}
	n = recv(c->socket.fd, c->in.data + c->in.size, READ_SIZE, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		release(c);
		return;
	}
	c->in.size += (size_t)n;
	read_request(c);
}

/* The answer was taken, and the connection stays. */
static void next_request(struct client *c)
{
	struct exchange fresh = { .trusted = c->x.trusted,
				  .socket = c->x.socket,
				  .peer_known = c->x.peer_known,
				  .peer_ours = c->x.peer_ours };

	text_release(&c->head);
	text_release(&c->x.out);
	text_release(&c->x.earlier);
	memcpy(fresh.from, c->x.from, sizeof(fresh.from));
	c->x = fresh;
	c->sent = 0;
	c->keep = false;
	c->served = true;
	c->state = READING;
	c->until = agent_now_ms() + REQUEST_TIME_MS;
	if (c->in.size)
		read_request(c);
}

static void write_some(struct client *c)
{
	while (c->state == WRITING) {
		bool in_head = c->sent < c->head.size;
		const struct text *t = in_head ? &c->head : &c->x.out;
		size_t at = in_head ? c->sent : c->sent - c->head.size;
		ssize_t n;

		if (at >= t->size)
			break;
		n = send(c->socket.fd, t->data + at, t->size - at,
			 MSG_NOSIGNAL | MSG_DONTWAIT | (in_head && c->x.out.size ? MSG_MORE : 0));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			release(c);
			return;
		}
		c->sent += (size_t)n;
		c->until = agent_now_ms() + ANSWER_TIME_MS;
	}
	if (c->keep) {
		next_request(c);
		return;
	}
	if (!c->unread) {
		release(c);
		return;
	}
	shutdown(c->socket.fd, SHUT_WR);
	text_release(&c->x.out);
	c->state = DRAINING;
	c->until = agent_now_ms() + DRAIN_TIME_MS;
}

static void drain(struct client *c)
{
	char bytes[4096];
	ssize_t n = recv(c->socket.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
		release(c);
}

static void over(struct client *c)
{
	void (*again)(struct exchange * x) = c->x.again;

	switch (c->state) {
	case READING:
		if (c->served && !c->in.size) {
			release(c); /* nobody waits for an answer */
			break;
		}
		refuse(c, 408, "the request did not come in time");
		break;
	case WAITING:
		c->x.again = NULL;
		again(&c->x);
		go_on(c);
		break;
	default:
		release(c);
	}
}

static void turn_away(int fd)
{
	static const char answer[] =
		"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 14\r\n"
		"Content-Type: text/plain\r\nConnection: close\r\n\r\nbusy, retry it\n";

	send(fd, answer, sizeof(answer) - 2, MSG_NOSIGNAL | MSG_DONTWAIT);
	shutdown(fd, SHUT_WR);
	close(fd);
	agent.refused++;
}

static void name_peer(struct client *c)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} a;
	socklen_t size = sizeof(a);
	char host[INET6_ADDRSTRLEN] = "?";

	memset(&a, 0, sizeof(a));
	if (getpeername(c->socket.fd, &a.any, &size))
		return;
	if (a.any.sa_family == AF_INET6)
		inet_ntop(AF_INET6, &a.six.sin6_addr, host, sizeof(host));
	else
		inet_ntop(AF_INET, &a.four.sin_addr, host, sizeof(host));
	snprintf(c->x.from, sizeof(c->x.from), "%s", host);
}

/* Who is at the other end; over the unix socket it is this user or root, or nobody. */
static bool introduce(struct client *c)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);

	if (!agent.local) {
		name_peer(c);
		return true;
	}
	if (getsockopt(c->socket.fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	    (peer.uid != geteuid() && peer.uid))
		return false;
	snprintf(c->x.from, sizeof(c->x.from), "process %d", (int)peer.pid);
	c->x.trusted = true;
	return true;
}

/* A free place; where there is none, that of a client who may have another request and sends none,
 * or of the one whose request has not come for longest. */
static struct client *find_place(void)
{
	struct client *slowest = NULL, *idle = NULL;

	for (struct client *c = clients; c < clients + CLIENTS_MAX; c++) {
		if (c->state == FREE)
			return c;
		if (c->state == READING && c->served && !c->in.size &&
		    (!idle || c->until < idle->until))
			idle = c;
		if (c->state == READING && (!slowest || c->until < slowest->until))
			slowest = c;
	}
	if (idle) {
		release(idle);
		return idle;
	}
	if (!slowest || slowest->until - REQUEST_TIME_MS + PATIENCE_MS > agent_now_ms())
		return NULL;
	release(slowest);
	return slowest;
}

static void take_clients(void)
{
	for (unsigned i = 0; i < CLIENTS_MAX; i++) {
		struct client *c;
		int fd;

		/* The number may be somebody else's by now. */
		if (!agent_fd_good(&agent.listener))
			return;
		fd = accept4(agent.listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		c = find_place();
		if (!c) {
			turn_away(fd);
			continue;
		}
		memset(c, 0, sizeof(*c));
		c->socket = agent_fd_own(fd);
		if (c->socket.fd < 0 || !introduce(c)) {
			release(c);
			continue;
		}
		c->x.socket = c->socket.fd;
		c->state = READING;
		c->until = agent_now_ms() + REQUEST_TIME_MS;
		/* Mostly the request is there by now. */
		read_some(c);
		if (c->state == WRITING)
			write_some(c);
	}
}

/* Are this one and the first, which has left, all threads that there are? */
static bool alone(void)
{
	char buffer[1024];
	int fd = open("/proc/thread-self/../../task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned entries = 0;
	long n = -1;

	if (fd < 0)
		fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (fd >= 0 && (n = syscall(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0)
		for (long at = 0; at < n;) {
			struct dirent64 *d = (struct dirent64 *)(buffer + at);

			entries += d->d_name[0] != '.';
			at += d->d_reclen;
		}
	if (fd >= 0)
		close(fd);
	return fd >= 0 && !n && entries <= 2;
}

static unsigned fill_polls(struct pollfd *polls, struct client **whose, int64_t *ret_until)
{
	unsigned n = 2;

	polls[0] = (struct pollfd){ .fd = agent.listener.fd, .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = agent.bell.fd, .events = POLLIN };
	*ret_until = repeat_until();
	for (unsigned i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &clients[i];

		if (c->state == FREE)
			continue;
		if (c->until < *ret_until)
			*ret_until = c->until;
		polls[n] = (struct pollfd){ .fd = c->socket.fd,
					    .events = c->state == WRITING   ? POLLOUT
						      : c->state == WAITING ? POLLRDHUP
									    : POLLIN };
		whose[n++] = c;
	}
	return n;
}

static void handle(struct client *c, short events, int64_t now)
{
	if (!agent_fd_good(&c->socket)) {
		release(c);
	} else if (c->state == WAITING && events & (POLLERR | POLLHUP | POLLRDHUP)) {
		release(c);
	} else if (events) {
		if (c->state == READING)
			read_some(c);
		else if (c->state == DRAINING)
			drain(c);
		if (c->state == WRITING)
			write_some(c);
	}
	if (c->state != FREE && now >= c->until)
		over(c);
}

void serve(void)
{
	struct pollfd polls[2 + CLIENTS_MAX];
	struct client *whose[2 + CLIENTS_MAX];

	for (;;) {
		bool leaving = atomic_load(&agent.main_left);
		int64_t until, now = agent_now_ms(), wait;
		unsigned n = fill_polls(polls, whose, &until);
		uint64_t rung;
		int ready;

		wait = until == INT64_MAX ? -1 : until > now ? until - now : 0;
		if (text_spares() && (wait < 0 || wait > SPARE_TIME_MS))
			wait = SPARE_TIME_MS;
		if (leaving && (wait < 0 || wait > LOOK_TIME_MS))
			wait = LOOK_TIME_MS;
		ready = poll(polls, n, (int)wait);
		if (ready < 0 && errno != EINTR)
			return;
		if (!ready)
			text_let_go();
		now = agent_now_ms();
		repeat_expire(now);
		for (unsigned i = 2; i < n; i++)
			handle(whose[i], polls[i].revents, now);
		if (polls[1].revents &&
		    (!agent_fd_good(&agent.bell) || read(agent.bell.fd, &rung, sizeof(rung)) < 0))
			agent.bell.fd = -1; /* poll() passes over it */
		if (polls[0].revents & POLLIN)
			take_clients();
		/* A program that closes all that it does not know begins anew with us. */
		if (polls[0].revents & ~POLLIN || !agent_fd_good(&agent.listener)) {
			listen_forget();
			agent_fd_close(&agent.listener);
			if (!listen_open())
				return;
		}
		if (leaving && alone()) {
			listen_forget();
			return; /* libc ends the process with its last thread */
		}
	}
}
