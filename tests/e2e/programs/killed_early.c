/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kills children while they start, on a processor that is busy, and looks whether anybody has the
 * pipe that they had alone.  killed_early COUNT fork|exec DESCRIPTOR [adopts]
 *
 * A child that waits for what it has made like vfork is shown in state D: that is the moment.  Goes
 * on until so many were killed then, or for ten seconds.  Says how many were, and how many pipes
 * were still held once the child was gone. */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "say.h"

#define BUSY 3
#define START_NS 200000000ull
#define LIMIT_NS 10000000000ull

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void make_busy(pid_t *children)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	CPU_ZERO(&one);
	CPU_SET(cpu < 0 ? 0 : cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (int i = 0; i < BUSY; i++) {
		children[i] = fork();
		if (children[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			KEEP(i);
	}
}

static char state_of(pid_t pid)
{
	char path[40], text[256], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	p = strrchr(text, ')');
	return p ? p[2] : '?';
}

static bool wait_until_it_starts_another(pid_t pid, uint64_t *random)
{
	for (uint64_t end = now_ns() + START_NS; now_ns() < end; sched_yield())
		if (state_of(pid) == 'D') {
			/* Most at once, some a little later. */
			if (!(next_random(random) % 4))
				usleep(next_random(random) % 5000);
			return true;
		}
	return false;
}

static void be_child(void)
{
	for (size_t i = 0;; i++)
		free(HIDE(malloc(i % 100)));
}

static bool is_held(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) != 1 || !(p.revents & POLLHUP);
}

int main(int argc, char **argv)
{
	int caught = 0, held = 0, ends[2];
	uint64_t random = 16, end = now_ns() + LIMIT_NS;
	pid_t busy[BUSY];

	if (argc == 2)
		be_child();
	if (argc == 5)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	make_busy(busy);
	while (caught < atoi(argv[1]) && now_ns() < end) {
		pid_t pid;

		if (pipe2(ends, O_CLOEXEC))
			fail("pipe2");
		pid = fork();
		if (!pid) {
			dup2(ends[1], atoi(argv[3]));
			if (*argv[2] == 'f') {
				close(ends[1]);
				be_child();
			}
			execl("/proc/self/exe", argv[0], "child", (char *)NULL);
			fail("exec");
		}
		close(ends[1]);
		caught += wait_until_it_starts_another(pid, &random);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		held += is_held(ends[0]);
		close(ends[0]);
	}
	for (int i = 0; i < BUSY; i++)
		kill(busy[i], SIGKILL);
	say("%d caught, %d held\n", caught, held);
	return 0;
}
