/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Asks an agent at a fixed rate, or as fast as it answers, and costs next to nothing itself: what
 * bench/agent.py and the tests hammer with.
 *
 *   bench_hammer PORT|/SOCKET RATE SECONDS COUNT FILE…
 *
 * Each file holds the bytes of one request; they are sent in turn, each over a connection of its
 * own unless the one before was left open, until so many seconds are over or so many were sent (0:
 * no limit; rate 0: no pause), or SIGTERM comes.  Says in one line of JSON what was answered, and
 * the processor time that this took. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define REQUESTS_MAX 4096
#define TIMES_MAX 1000000
#define PATIENCE_S 60

struct request {
	char *bytes;
	size_t size;
};

static union {
	struct sockaddr any;
	struct sockaddr_in port;
	struct sockaddr_un path;
} address;
static socklen_t address_size;
static struct request requests[REQUESTS_MAX];
static uint32_t times[TIMES_MAX];	/* microseconds */
static uint64_t answers[7], bytes_read; /* by the first digit of the status; 0: none */

static volatile sig_atomic_t stop;

static void on_stop(int sig)
{
	(void)sig;
	stop = 1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void sleep_until(double when)
{
	struct timespec t = { (time_t)when, (long)((when - (double)(time_t)when) * 1e9) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR && !stop)
		;
}

static int fail(const char *what)
{
	fprintf(stderr, "bench_hammer: %s: %s\n", what, strerror(errno));
	return 1;
}

static void find_address(const char *text)
{
	if (*text == '/') {
		address.path.sun_family = AF_UNIX;
		snprintf(address.path.sun_path, sizeof(address.path.sun_path), "%s", text);
		address_size = sizeof(address.path);
		return;
	}
	address.port.sin_family = AF_INET;
	address.port.sin_port = htons((uint16_t)atoi(text));
	address.port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address_size = sizeof(address.port);
}

static int read_request(struct request *r, const char *path)
{
	FILE *f = fopen(path, "rb");
	long size;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET))
		return fail(path);
	r->size = (size_t)size;
	r->bytes = malloc(r->size + 1);
	if (!r->bytes || fread(r->bytes, 1, r->size, f) != r->size)
		return fail(path);
	fclose(f);
	return 0;
}

static int open_connection(void)
{
	struct timeval patience = { PATIENCE_S, 0 };
	int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, &address.any, address_size) < 0) {
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return fd;
}

/* How long an answer is whose connection stays open; 0: it ends with the connection. */
static size_t whole_size(const char *head, size_t size)
{
	const char *end = memmem(head, size, "\r\n\r\n", 4), *length;

	if (!end || !memmem(head, (size_t)(end - head), "Connection: keep-alive", 22))
		return 0;
	length = memmem(head, (size_t)(end - head), "Content-Length: ", 16);
	return length ? (size_t)(end + 4 - head) + strtoul(length + 16, NULL, 10) : 0;
}

/* One request and all of its answer; false: there is nobody. */
static int ask(const struct request *r)
{
	static char in[1 << 20];
	static int connection = -1;
	int fd = connection >= 0 ? connection : open_connection();
	bool may_stay = memmem(r->bytes, r->size, "keep-alive", 10);
	size_t sent = 0, got = 0, whole = 0;
	unsigned status = 0;
	ssize_t n;

	connection = -1;
	if (fd < 0)
		return 0;
	while (sent < r->size && (n = send(fd, r->bytes + sent, r->size - sent, MSG_NOSIGNAL)) > 0)
		sent += (size_t)n;
	if (!may_stay)
		shutdown(fd, SHUT_WR);
	while ((!whole || got < whole) && (n = recv(fd, in, sizeof(in), 0)) > 0) {
		if (!got && n > 12 && !memcmp(in, "HTTP/1.1 ", 9)) {
			status = (unsigned)(in[9] - '0');
			whole = may_stay ? whole_size(in, (size_t)n) : 0;
		}
		got += (size_t)n;
	}
	if (whole && got == whole)
		connection = fd;
	else
		close(fd);
	bytes_read += got;
	answers[status < 7 ? status : 0]++;
	return 1;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	double rate, seconds, start, end;
	uint64_t limit, count = 0, lost = 0, timed;
	unsigned request_count = 0;
	struct rusage used;

	if (argc < 6 || argc - 5 > REQUESTS_MAX) {
		fprintf(stderr, "bench_hammer PORT|/SOCKET RATE SECONDS COUNT FILE…\n");
		return 2;
	}
	find_address(argv[1]);
	rate = atof(argv[2]);
	seconds = atof(argv[3]);
	limit = strtoull(argv[4], NULL, 10);
	for (int i = 5; i < argc; i++)
		if (read_request(&requests[request_count++], argv[i]))
			return 1;
	sigaction(SIGTERM, &(struct sigaction){ .sa_handler = on_stop, .sa_flags = SA_RESTART },
		  NULL);
	start = now();
	for (; !stop && (!limit || count < limit); count++) {
		double at = now();

		if (seconds > 0 && at - start >= seconds)
			break;
		lost += !ask(&requests[count % request_count]);
		if (count < TIMES_MAX)
			times[count] = (uint32_t)((now() - at) * 1e6);
		if (rate > 0)
			sleep_until(start + (double)(count + 1) / rate);
	}
	end = now();
	getrusage(RUSAGE_SELF, &used);
	timed = count < TIMES_MAX ? count : TIMES_MAX;
	if (timed)
		qsort(times, timed, sizeof(*times), by_size);
	printf("{\"requests\":%llu,\"unanswered\":%llu,\"lost\":%llu,\"ok\":%llu,\"refused\":%llu,"
	       "\"failed\":%llu,\"bytes\":%llu,\"seconds\":%.3f,\"cpu_s\":%.3f,\"median_us\":%u,"
	       "\"p99_us\":%u,\"most_us\":%u}\n",
	       (unsigned long long)count, (unsigned long long)answers[0], (unsigned long long)lost,
	       (unsigned long long)answers[2], (unsigned long long)answers[4],
	       (unsigned long long)answers[5], (unsigned long long)bytes_read, end - start,
	       (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
		       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
	       timed ? times[timed / 2] : 0, timed ? times[timed * 99 / 100] : 0,
	       timed ? times[timed - 1] : 0);
	return 0;
}
