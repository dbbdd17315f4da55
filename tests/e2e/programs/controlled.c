/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Does what the lines of its standard input say, and answers each with a line. */
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "../../../include/memoir.h"
#include "say.h"

static NOINLINE void make(int count)
{
	for (int i = 0; i < count; i++)
		KEEP(HIDE(malloc(77)));
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool read_line(char *line, size_t size)
{
	size_t n = 0;

	while (n < size - 1 && read(0, line + n, 1) == 1) {
		if (line[n] == '\n') {
			line[n] = 0;
			return true;
		}
		n++;
	}
	return false;
}

static void *marks(void *argument)
{
	const char *name = argument;

	memoir_set_marker_named((uint32_t)strlen(name), name);
	return NULL;
}

int main(void)
{
	char line[1000];

	while (read_line(line, sizeof(line))) {
		char *argument = strchr(line, ' ');

		argument = argument ? argument + 1 : line;
		if (!strncmp(line, "make", 4)) {
			make(atoi(argument));
			say("made\n");
		} else if (!strcmp(line, "sync")) {
			double start = now();
			int result = memoir_sync();

			say("%d %.3f\n", result, now() - start);
		} else if (!strncmp(line, "mark", 4)) {
			memoir_set_marker((uint32_t)strtoul(argument, NULL, 0));
			say("marked\n");
		} else if (!strncmp(line, "name", 4)) {
			memoir_set_marker_named((uint32_t)strlen(argument), argument);
			say("named\n");
		} else if (!strncmp(line, "thread", 6)) {
			pthread_t thread;

			pthread_create(&thread, NULL, marks, argument);
			pthread_join(thread, NULL);
			say("joined\n");
		} else if (!strncmp(line, "at", 2)) {
			double seconds = strtod(argument, NULL);

			memoir_override_next_timestamp((uint64_t)(seconds * 1e6));
			say("over\n");
		} else if (!strncmp(line, "block", 5)) {
			KEEP(HIDE(malloc(strtoul(argument, NULL, 0))));
			say("blocked\n");
		} else if (!strncmp(line, "grow", 4)) {
			static void *p;

			p = HIDE(realloc(p, strtoul(argument, NULL, 0)));
			say("grown\n");
		} else {
			return 3;
		}
	}
	return 0;
}
