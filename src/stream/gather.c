/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Receiving streams.  See gather.h. */
#include "stream/gather.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buf_type.h"
#include "base/now.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "stream/announce.h"
#include "stream/keep.h"
#include "stream/receiver.h"

#define SECOND_NS 1000000000ull
#define RETRY_NS (SECOND_NS / 10)
#define HELLO_NS (30 * SECOND_NS) /* from the connection to the end of the hello */
#define PIECE (256u << 10)
#define ANNOUNCED_MAX 256 /* streams at a time; others are heard later */
#define TURN 16		  /* pieces of one stream before the next one's turn */

enum source_state { SOURCE_WAITS, SOURCE_CONNECTS, SOURCE_RECEIVES, SOURCE_ENDED };

struct source {
	enum source_state state;
	struct stream_target target;
	const struct addrinfo *address; /* the one that is tried */
	int fd;
	int refusal; /* why the last address did not answer: an errno */
	bool announced;
	bool refused;	/* an announced one is not for us */
	uint8_t id[16]; /* as announced */
	uint64_t deadline_ns, retry_ns, hello_ns;
	struct receiver receiver;
	struct keep keep;
};

struct gather {
	const struct gather_options *options;
	struct source **sources;
	size_t count, room;
	uint64_t now_ns, ended;
	uint64_t kept_bytes; /* bytes, of all sources */
	int announce_fd;
	char *piece;
	struct pollfd *polls;
	size_t poll_room;
};

static struct source *gather_add_source(struct gather *g, struct stream_target target,
					uint64_t wait_ns)
{
	struct source *s = xcalloc(1, sizeof(*s));

	s->target = target;
	s->address = target.addresses;
	s->fd = s->keep.fd = -1;
	s->deadline_ns = g->now_ns + wait_ns;
	receiver_init(&s->receiver);
	*xpush(g->sources, g->count, g->room) = s;
	return s;
}

static void hang_up(struct source *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

/* Keeps what there is, if it is the beginning of a recording, and tells. */
static void gather_end_source(struct gather *g, struct source *s, enum gather_outcome outcome,
			      const struct err *why)
{
	struct gather_result result = {
		.outcome = outcome,
		.where = s->target.text,
		.hello = s->receiver.greeted ? &s->receiver.hello : NULL,
		.err = why ? *why : (struct err){ "", ERR_NO_OFFSET },
	};

	hang_up(s);
	s->state = SOURCE_ENDED;
	if (s->receiver.known && s->keep.fd >= 0) {
		if (keep_finish(&s->keep, &result.err)) {
			result.outcome = GATHER_BROKEN;
		} else {
			result.path = s->keep.path;
			result.size = s->keep.size;
			g->ended++;
		}
	}
	/* A sender that announced itself and was gone before its first word is not a stream, and
	 * may come again: see sweep(). */
	if (!s->announced || result.hello)
		g->options->finished(g->options->context, &result);
	keep_release(&s->keep);
	receiver_release(&s->receiver);
	target_release(&s->target);
}

static void fail(struct gather *g, struct source *s, const char *text)
{
	struct err err;

	err_at(&err, 0, s->receiver.offset ? s->receiver.offset : ERR_NO_OFFSET, "%s", text);
	gather_end_source(g, s, GATHER_BROKEN, &err);
}

/* Nobody is there: the next address, or all of them again later, or never. */
static void refused(struct gather *g, struct source *s, int error)
{
	struct err err;

	hang_up(s);
	s->refusal = error;
	s->state = SOURCE_WAITS;
	s->address = s->address->ai_next;
	if (s->address) {
		s->retry_ns = g->now_ns;
		return;
	}
	s->address = s->target.addresses;
	s->retry_ns = g->now_ns + RETRY_NS;
	if (s->retry_ns < s->deadline_ns && !s->announced)
		return;
	err_set(&err, 0, "no sender there: %s", strerror(s->refusal));
	gather_end_source(g, s, GATHER_BROKEN, &err);
}

/* A port that nobody listens on may be given to our own end of the connection, which then talks to
 * itself. */
static bool is_itself(int fd)
{
	struct sockaddr_storage here, there;
	socklen_t here_size = sizeof(here), there_size = sizeof(there);

	memset(&here, 0, sizeof(here));
	memset(&there, 0, sizeof(there));
	return !getsockname(fd, (struct sockaddr *)&here, &here_size) &&
	       !getpeername(fd, (struct sockaddr *)&there, &there_size) &&
	       here_size == there_size && !memcmp(&here, &there, here_size);
}

static void start_connecting(struct gather *g, struct source *s)
{
	s->fd = target_connect(s->address);
	if (s->fd < 0) {
		int error = -s->fd;

		s->fd = -1;
		refused(g, s, error);
		return;
	}
	s->state = SOURCE_CONNECTS;
}

/* In one piece: a connection that was just made has room for it.  Whose process we are is enough on
 * the sender's machine, and then it is not read. */
static void say_token(const struct gather *g, const struct source *s)
{
	auto_buf struct buf words = { 0 };

	stream_put_token(&words, g->options->token ? g->options->token : "");
	(void)!send(s->fd, words.data, words.size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void connected(struct gather *g, struct source *s)
{
	int error = 0;
	socklen_t size = sizeof(error);

	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = errno;
	if (!error && is_itself(s->fd))
		error = ECONNREFUSED;
	if (error) {
		refused(g, s, error);
		return;
	}
	s->state = SOURCE_RECEIVES;
	s->hello_ns = g->now_ns;
	say_token(g, s);
}

static bool same_id(const uint8_t *a, const uint8_t *b)
{
	return !memcmp(a, b, 16);
}

/* Was this recording heard of, or is it being received? */
static bool is_known(const struct gather *g, const uint8_t *id, const struct source *except)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct source *s = g->sources[i];

		if (s != except && (same_id(s->id, id) ||
				    (s->receiver.greeted && same_id(s->receiver.hello.id, id))))
			return true;
	}
	return false;
}

struct taking {
	struct gather *g;
	struct source *s;
};

/* As much as may be kept; what was kept before stays. */
static int take_within_limit(struct gather *g, struct source *s, const void *bytes, size_t size,
			     struct err *err)
{
	uint64_t limit = g->options->max_size;
	size_t room = size;
	int error;

	if (limit && size > limit - g->kept_bytes)
		room = (size_t)(limit - g->kept_bytes);
	g->kept_bytes += room;
	error = keep_add(&s->keep, bytes, room, !limit, err);
	if (!error && room < size)
		error = err_set(err, -EFBIG,
				"the limit of %" PRIu64 " bytes is reached (--max-size)", limit);
	return error;
}

static int gather_take_bytes(void *context, const void *bytes, size_t size, struct err *err)
{
	struct taking *t = context;
	struct source *s = t->s;
	int error;

	if (s->keep.fd < 0) {
		/* Another process may have got the port of the sender that announced itself. */
		if (s->announced && is_known(t->g, s->receiver.hello.id, s))
			return -EALREADY;
		error = keep_open(&s->keep, t->g->options->output, &s->receiver.hello, err);
		if (error)
			return error;
	}
	return take_within_limit(t->g, s, bytes, size, err);
}

/* The connection has ended. */
static void ended(struct gather *g, struct source *s, int error)
{
	/* Somebody who leaves without a word is as good as nobody: a collector at its end. */
	if (!s->receiver.offset) {
		refused(g, s, error ? error : ECONNRESET);
		return;
	}
	fail(g, s, error ? strerror(error) : "the connection ended before the recording did");
}

static void receive(struct gather *g, struct source *s)
{
	struct taking context = { g, s };
	struct err err;
	int error;

	for (int i = 0; i < TURN; i++) {
		ssize_t n = recv(s->fd, g->piece, PIECE, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
			return;
		if (n <= 0) {
			ended(g, s, n ? errno : 0);
			return;
		}
		error = receiver_feed(&s->receiver, g->piece, (size_t)n, gather_take_bytes,
				      &context, &err);
		s->refused = error == -EACCES;
		if (error == -EALREADY)
			s->receiver.greeted = s->receiver.known = false;
		if (error) {
			gather_end_source(g, s, GATHER_BROKEN, &err);
			return;
		}
		if (s->receiver.state == RECEIVER_DONE && s->receiver.whole) {
			gather_end_source(g, s, GATHER_WHOLE, NULL);
			return;
		}
		if (s->receiver.state == RECEIVER_DONE) {
			err_set(&err, 0, "the collector could not write its end");
			gather_end_source(g, s, GATHER_UNFINISHED, &err);
			return;
		}
	}
}

static size_t open_sources(const struct gather *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->count; i++)
		n += g->sources[i]->state != SOURCE_ENDED;
	return n;
}

static void hear(struct gather *g)
{
	uint8_t bytes[2 * STREAM_ANNOUNCEMENT_MAX];
	char text[INET_ADDRSTRLEN], where[40];
	struct stream_hello hello;
	struct sockaddr_in from;
	struct stream_target target;
	struct err err;
	int n;

	for (int i = 0; i < 64; i++) {
		struct source *s;

		n = announce_receive(g->announce_fd, bytes, sizeof(bytes), &from);
		if (n <= 0)
			return;
		/* Anything may come to a port; what is no announcement of ours is not heard. */
		if (stream_get_announcement(bytes, (size_t)n, &hello, &err) ||
		    is_known(g, hello.id, NULL) || open_sources(g) >= ANNOUNCED_MAX)
			continue;
		inet_ntop(AF_INET, &from.sin_addr, text, sizeof(text));
		if (!strncmp(text, "127.", 4))
			strcpy(text, "127.0.0.1");
		snprintf(where, sizeof(where), "%s:%" PRIu32, text, hello.port);
		if (target_parse(&target, where, &err))
			continue;
		s = gather_add_source(g, target, 0);
		s->announced = true;
		memcpy(s->id, hello.id, sizeof(s->id));
	}
}

/* What a source waits for, in `p`; when it has to be looked at in any case. */
static uint64_t prepare(struct source *s, struct pollfd *p)
{
	*p = (struct pollfd){ .fd = s->fd, .events = POLLIN };
	switch (s->state) {
	case SOURCE_WAITS:
		return s->retry_ns;
	case SOURCE_CONNECTS:
		p->events = POLLOUT;
		return s->deadline_ns + HELLO_NS;
	case SOURCE_RECEIVES:
		return s->receiver.greeted ? UINT64_MAX : s->hello_ns + HELLO_NS;
	case SOURCE_ENDED:
		break;
	}
	return UINT64_MAX;
}

static void wait_for_something(struct gather *g)
{
	uint64_t wake = UINT64_MAX;
	struct timespec timeout;

	while (g->poll_room < g->count + 1)
		g->polls = xgrow(g->polls, g->poll_room, &g->poll_room, sizeof(*g->polls));
	for (size_t i = 0; i < g->count; i++) {
		uint64_t at = prepare(g->sources[i], &g->polls[i]);

		wake = at < wake ? at : wake;
	}
	g->polls[g->count] = (struct pollfd){ .fd = g->announce_fd, .events = POLLIN };
	wake = wake > g->now_ns ? wake - g->now_ns : 0;
	wake = MIN(wake, SECOND_NS);
	timeout.tv_sec = (time_t)(wake / SECOND_NS);
	timeout.tv_nsec = (long)(wake % SECOND_NS);
	if (ppoll(g->polls, g->count + 1, &timeout, g->options->waiting) < 0)
		for (size_t i = 0; i <= g->count; i++)
			g->polls[i].revents = 0;
}

static void look_at(struct gather *g, struct source *s, short events)
{
	switch (s->state) {
	case SOURCE_WAITS:
		if (g->now_ns >= s->retry_ns)
			start_connecting(g, s);
		break;
	case SOURCE_CONNECTS:
		if (events)
			connected(g, s);
		else if (g->now_ns >= s->deadline_ns + HELLO_NS)
			refused(g, s, ETIMEDOUT);
		break;
	case SOURCE_RECEIVES:
		if (events)
			receive(g, s);
		else if (!s->receiver.greeted && g->now_ns >= s->hello_ns + HELLO_NS)
			fail(g, s, "it says nothing: this is not Memoir's stream");
		break;
	case SOURCE_ENDED:
		break;
	}
}

static void gather_tell(struct gather *g)
{
	struct gather_progress p = { 0 };

	for (size_t i = 0; i < g->count; i++) {
		const struct source *s = g->sources[i];

		if (s->state != SOURCE_RECEIVES || !s->receiver.greeted)
			continue;
		p.streams++;
		p.size += s->keep.size;
		p.hello = &s->receiver.hello;
	}
	g->options->progress(g->options->context, &p);
}

static bool goes_on(const struct gather *g)
{
	if (*g->options->stop)
		return false;
	if (g->announce_fd >= 0)
		return !g->options->count || g->ended < g->options->count;
	return ANY(i, g->count, g->sources[i]->state != SOURCE_ENDED);
}

/* Ended ones are remembered by their recording's id, so that it is not received again; those that
 * never said one are forgotten. */
static void sweep(struct gather *g)
{
	size_t remaining = 0;

	for (size_t i = 0; i < g->count; i++) {
		struct source *s = g->sources[i];

		if (s->state == SOURCE_ENDED && !s->receiver.greeted && !s->refused)
			free(s);
		else
			g->sources[remaining++] = s;
	}
	g->count = remaining;
}

static void release(struct gather *g)
{
	for (size_t i = 0; i < g->count; i++) {
		if (g->sources[i]->state != SOURCE_ENDED)
			gather_end_source(g, g->sources[i], GATHER_STOPPED, NULL);
		free(g->sources[i]);
	}
	if (g->announce_fd >= 0)
		close(g->announce_fd);
	free(g->sources);
	free(g->polls);
	free(g->piece);
}

int gather_run(const struct gather_options *options, struct stream_target *targets, size_t count,
	       struct err *err)
{
	struct gather g = { .options = options, .announce_fd = -1, .now_ns = now_ns() };

	if (options->announced) {
		g.announce_fd = announce_listen(options->announce_port, err);
		if (g.announce_fd < 0)
			return g.announce_fd;
	}
	g.piece = xmalloc(PIECE);
	for (size_t i = 0; i < count; i++)
		gather_add_source(&g, targets[i], options->wait_s * SECOND_NS);
	while (goes_on(&g)) {
		size_t polled = g.count;

		wait_for_something(&g);
		g.now_ns = now_ns();
		for (size_t i = 0; i < polled; i++)
			look_at(&g, g.sources[i], g.polls[i].revents);
		if (g.announce_fd >= 0 && g.polls[polled].revents)
			hear(&g);
		gather_tell(&g);
		sweep(&g);
	}
	release(&g);
	return 0;
}
