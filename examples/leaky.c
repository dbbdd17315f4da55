/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A small server that never was: what `make demo` records.
 *
 * It answers made-up requests for a second and does what real programs do with memory:
 *   session_open    leaks: every tenth session is forgotten, to the end of the run
 *   render_page     fills a cache of 256 pages that is kept to the end, and is no leak
 *   render_row      churns: temporary strings that live for a moment
 *   load_report     peaks: a large table, half-way through, for a short time
 *   log_line        grows a buffer by realloc, and frees it only as the program ends */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REQUESTS 20000
#define WORKERS 2
#define PAGES 256

struct session {
	char user[64];
	char history[1024];
	char *token;
};

static char *cache[PAGES];
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static char *log_text;
static size_t log_used, log_room;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static struct session *session_open(unsigned long request)
{
	struct session *s = calloc(1, sizeof(*s));

	snprintf(s->user, sizeof(s->user), "user-%lu", request % 97);
	s->token = malloc(128 + request % 64);
	memset(s->token, 'k', 128);
	return s;
}

static void session_close(struct session *s, unsigned long request)
{
	if (request % 10 == 9)
		return; /* the bug that the report shows */
	free(s->token);
	free(s);
}

static char *render_row(unsigned long row)
{
	char *text = malloc(96);

	snprintf(text, 96, "<tr><td>%lu</td><td>%lu</td></tr>", row, row * row);
	return text;
}

static char *render_page(unsigned long request)
{
	size_t used = 0, room = 64;
	char *page = malloc(room);

	page[0] = 0;
	for (unsigned long row = 0; row < 8 + request % 8; row++) {
		char *text = render_row(request + row);
		size_t length = strlen(text);

		while (used + length + 1 > room)
			page = realloc(page, room *= 2);
		memcpy(page + used, text, length + 1);
		used += length;
		free(text);
	}
	return page;
}

/* Instead of the page that was there. */
static void cache_put(unsigned long key, char *page)
{
	pthread_mutex_lock(&cache_lock);
	free(cache[key % PAGES]);
	cache[key % PAGES] = page;
	pthread_mutex_unlock(&cache_lock);
}

static void log_line(const char *text)
{
	size_t length = strlen(text);

	pthread_mutex_lock(&log_lock);
	if (log_used + length + 1 > log_room) {
		log_room = (log_used + length + 1) * 3 / 2;
		log_text = realloc(log_text, log_room);
	}
	memcpy(log_text + log_used, text, length + 1);
	log_used += length;
	pthread_mutex_unlock(&log_lock);
}

static unsigned long load_report(void)
{
	size_t rows = 200000;
	unsigned long *table = malloc(rows * sizeof(*table)), sum = 0;

	for (size_t i = 0; i < rows; i++)
		table[i] = i * 2654435761u;
	for (size_t i = 0; i < rows; i++)
		sum += table[i] & 1;
	free(table);
	return sum;
}

static void handle_request(unsigned long request)
{
	struct session *s = session_open(request);
	char *page = render_page(request);

	if (request % 5 == 0)
		log_line("five requests served\n");
	if (request % 4 == 0)
		cache_put(request / 4, page);
	else
		free(page);
	session_close(s, request);
}

static void *serve(void *argument)
{
	unsigned long first = (unsigned long)argument;
	struct timespec pause = { 0, 1000000 };

	for (unsigned long i = first; i < REQUESTS; i += WORKERS) {
		handle_request(i);
		if (i == REQUESTS / 2)
			load_report();
		if (i % 20 < WORKERS)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(void)
{
	pthread_t workers[WORKERS];

	for (unsigned long i = 0; i < WORKERS; i++) {
		if (pthread_create(&workers[i], NULL, serve, (void *)i))
			return 1;
		pthread_setname_np(workers[i], i ? "worker-odd" : "worker-even");
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	printf("%d requests served, %zu bytes logged\n", REQUESTS, log_used);
	free(log_text);
	return 0;
}
