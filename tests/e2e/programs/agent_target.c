// SPDX-License-Identifier: MIT OR Apache-2.0
// A program that has an agent: does what lines on stdin say, and answers each with a line.
//   grow        80 MiB in blocks of 64 KiB, touched       shrink   frees them
//   keep N      N blocks of 1000 bytes by keep_small() and 10 of 100,000 by keep_large()
//   read NAME   what mallctl() says about a number
//   fork        a child that lives until stdin ends; its pid
//   threads     starts and ends one        close     closes every descriptor from 3 on
//   leave       the first thread ends, another one goes on for a while
//   quit
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *blocks[1280];
static void *volatile kept[1 << 20];
static unsigned kept_count;

__attribute__((noinline)) void keep_small(int n)
{
	for (int i = 0; i < n; i++)
		kept[kept_count++] = memset(malloc(1000), 1, 1000);
}

__attribute__((noinline)) void keep_large(void)
{
	for (int i = 0; i < 10; i++)
		kept[kept_count++] = memset(malloc(100000), 1, 100000);
}

static void *nothing(void *unused)
{
	return unused;
}

static void *linger(void *unused)
{
	usleep(300000);
	puts("left");
	return unused;
}

static int (*ctl(void))(const char *, void *, size_t *, void *, size_t)
{
	static const char *const names[] = { "mallctl", "je_mallctl", "_rjem_mallctl" };
	void *found = NULL;

	for (int i = 0; i < 3 && !found; i++)
		found = dlsym(RTLD_DEFAULT, names[i]);
	return found;
}

static void read_number(const char *name)
{
	uint64_t epoch = 1, value = 0;
	size_t size = sizeof(value);
	int e = -1;

	if (ctl()) {
		ctl()("epoch", NULL, NULL, &epoch, sizeof(epoch));
		e = ctl()(name, &value, &size, NULL, 0);
		if (e == 22) { // another size
			size = 4;
			e = ctl()(name, &value, &size, NULL, 0);
		}
		if (e == 22) {
			size = 1;
			e = ctl()(name, &value, &size, NULL, 0);
		}
	}
	printf("%d %lld\n", e, (long long)value);
}

static void child(void)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };

	for (;;) {
		poll(&p, 1, 1000);
		if (p.revents & (POLLHUP | POLLERR) || getppid() == 1)
			_exit(0);
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	char line[200];
	struct pollfd p = { .fd = 0, .events = POLLIN };

	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(stdin, NULL, _IONBF, 0);
	puts("ready");
	while (poll(&p, 1, -1) >= 0 && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (!strcmp(line, "grow")) {
			for (int i = 0; i < 1280; i++)
				blocks[i] = memset(malloc(65536), 1, 65536);
			puts("done");
		} else if (!strcmp(line, "shrink")) {
			for (int i = 0; i < 1280; i++)
				free(blocks[i]);
			puts("done");
		} else if (!strncmp(line, "keep ", 5)) {
			keep_small(atoi(line + 5));
			keep_large();
			puts("done");
		} else if (!strncmp(line, "read ", 5)) {
			read_number(line + 5);
		} else if (!strcmp(line, "fork")) {
			pid_t pid = fork();

			if (!pid)
				child();
			printf("%d\n", (int)pid);
		} else if (!strcmp(line, "threads")) {
			pthread_t t;

			pthread_create(&t, NULL, nothing, NULL);
			pthread_join(t, NULL);
			puts("done");
		} else if (!strcmp(line, "close")) {
			for (int fd = 3; fd < 4096; fd++)
				close(fd);
			puts("done");
		} else if (!strcmp(line, "leave")) {
			pthread_t t;

			pthread_create(&t, NULL, linger, NULL);
			pthread_exit(NULL);
		} else if (!strcmp(line, "quit")) {
			break;
		} else {
			puts("?");
		}
	}
	return 7;
}
