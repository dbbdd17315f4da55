/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Works with a redis-server at a fixed rate, or as fast as it goes, and looks at every answer: what
 * bench/agent.py and the tests have redis do while its agent is asked.
 *
 *   bench_redis_load SOCKET fill|run|check CONNECTIONS RATE SECONDS KEYS
 *
 * fill writes the keys, check reads them all back; run reads and writes them and counts, for so
 * many seconds.  A request is due at its time whether the one before was answered or not, and its
 * latency begins then: a server that stands still for a moment is late with all that came due
 * meanwhile. Rate 0: each connection asks again at once.  Says what happened in one line of JSON.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 256
#define TIMES_MAX (16u << 20)
#define VALUE_SIZE 100
#define COUNTERS 16

enum mode { FILL, RUN, CHECK };

struct connection {
	double due; /* of the request that is under way; 0: none */
	char expected[VALUE_SIZE + 32];
	char got[VALUE_SIZE + 64];
	size_t expected_size, got_size; /* expected 0: any number */
};

static struct connection connections[CONNECTIONS_MAX];
static struct pollfd polls[CONNECTIONS_MAX];
static unsigned connection_count, keys;
static enum mode mode;
static uint64_t issued, answered, wrong, counted;
static uint32_t *times; /* microseconds */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "bench_redis_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void open_all(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	for (unsigned i = 0; i < connection_count; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
			fail(path);
		polls[i] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
}

static void value_of(unsigned key, char *out)
{
	int n = snprintf(out, VALUE_SIZE, "value of key %u;", key);

	for (int i = n; i < VALUE_SIZE; i++)
		out[i] = (char)('a' + (key + (unsigned)i) % 26);
}

static void issue(struct connection *c, int fd, double due)
{
	char request[VALUE_SIZE + 200], value[VALUE_SIZE], name[32];
	unsigned key = (unsigned)((mode == RUN ? issued * 2654435761u : issued) % keys);
	unsigned kind = mode == FILL ? 0 : mode == CHECK ? 1 : (unsigned)(issued % 4);
	int n;

	c->due = due;
	c->got_size = 0;
	value_of(key, value);
	if (kind == 3) {
		int length = snprintf(name, sizeof(name), "counter:%u", key % COUNTERS);

		n = snprintf(request, sizeof(request), "*2\r\n$4\r\nINCR\r\n$%d\r\n%s\r\n", length,
			     name);
		c->expected_size = 0;
		counted++;
	} else if (kind == 0) {
		int length = snprintf(name, sizeof(name), "key:%u", key);

		n = snprintf(request, sizeof(request),
			     "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%.*s\r\n", length, name,
			     VALUE_SIZE, VALUE_SIZE, value);
		c->expected_size = (size_t)sprintf(c->expected, "+OK\r\n");
	} else {
		int length = snprintf(name, sizeof(name), "key:%u", key);

		n = snprintf(request, sizeof(request), "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", length,
			     name);
		c->expected_size = (size_t)sprintf(c->expected, "$%d\r\n%.*s\r\n", VALUE_SIZE,
						   VALUE_SIZE, value);
	}
	issued++;
	if (send(fd, request, (size_t)n, MSG_NOSIGNAL) != n)
		fail("send");
}

/* Has all of the answer come?  A line, or a length and so many bytes; a wrong one is whole too. */
static bool whole(const struct connection *c)
{
	const char *line = memchr(c->got, '\n', c->got_size);
	long length;

	if (!line)
		return false;
	length = c->got[0] == '$' ? strtol(c->got + 1, NULL, 10) : -1;
	return length < 0 || c->got_size >= (size_t)(line + 1 - c->got) + (size_t)length + 2 ||
	       c->got_size == sizeof(c->got);
}

static void take(struct connection *c, int fd)
{
	ssize_t n = recv(fd, c->got + c->got_size, sizeof(c->got) - c->got_size, 0);
	double late;

	if (n <= 0)
		fail("recv");
	c->got_size += (size_t)n;
	if (!whole(c))
		return;
	if (c->expected_size ? c->got_size != c->expected_size ||
				       memcmp(c->got, c->expected, c->got_size) != 0
			     : c->got[0] != ':')
		wrong++;
	late = (now() - c->due) * 1e6;
	if (answered < TIMES_MAX)
		times[answered] = (uint32_t)(late < 0 ? 0 : late);
	answered++;
	c->due = 0;
}

/* Waits for an answer, or until `until`. */
static void wait_for(double until)
{
	double left = until - now();
	struct timespec t = { (time_t)left, (long)((left - (double)(time_t)left) * 1e9) };

	if (left < 0)
		t = (struct timespec){ 0 };
	if (ppoll(polls, connection_count, &t, NULL) < 0 && errno != EINTR)
		fail("poll");
	for (unsigned i = 0; i < connection_count; i++)
		if (polls[i].revents)
			take(&connections[i], polls[i].fd);
}

static double work(double rate, double seconds)
{
	uint64_t limit = mode == RUN ? UINT64_MAX : keys;
	double start = now(), at = start;

	while (answered < issued || (issued < limit && (mode != RUN || at - start < seconds))) {
		double next = at + 1;
		bool over = issued >= limit || (mode == RUN && at - start >= seconds);

		for (unsigned i = 0; i < connection_count && !over; i++) {
			double due = rate > 0 ? start + (double)issued / rate : at;

			if (connections[i].due > 0)
				continue;
			if (due > at || issued >= limit) {
				next = due < next ? due : next;
				break;
			}
			issue(&connections[i], polls[i].fd, due);
		}
		wait_for(next);
		at = now();
	}
	return at - start;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static const char *const modes[] = { "fill", "run", "check" };
	struct rusage used;
	uint64_t timed;
	double seconds;

	for (int i = 0; argc == 7 && i < 3; i++)
		if (!strcmp(argv[2], modes[i]))
			mode = (enum mode)i, keys = (unsigned)atoi(argv[6]);
	connection_count = argc == 7 ? (unsigned)atoi(argv[3]) : 0;
	if (!keys || !connection_count || connection_count > CONNECTIONS_MAX) {
		fprintf(stderr, "bench_redis_load SOCKET fill|run|check CONNECTIONS RATE SECONDS "
				"KEYS\n");
		return 2;
	}
	times = calloc(TIMES_MAX, sizeof(*times));
	if (!times)
		fail("memory");
	open_all(argv[1]);
	seconds = work(atof(argv[4]), atof(argv[5]));
	getrusage(RUSAGE_SELF, &used);
	timed = answered < TIMES_MAX ? answered : TIMES_MAX;
	if (timed)
		qsort(times, timed, sizeof(*times), by_size);
	printf("{\"requests\":%llu,\"wrong\":%llu,\"counted\":%llu,\"seconds\":%.3f,\"per_second\":"
	       "%.1f,"
	       "\"cpu_s\":%.3f,\"median_us\":%u,\"p99_us\":%u,\"p999_us\":%u,\"most_us\":%u}\n",
	       (unsigned long long)answered, (unsigned long long)wrong, (unsigned long long)counted,
	       seconds, (double)answered / seconds,
	       (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
		       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
	       timed ? times[timed / 2] : 0, timed ? times[timed * 99 / 100] : 0,
	       timed ? times[timed * 999 / 1000] : 0, timed ? times[timed - 1] : 0);
	return 0;
}
