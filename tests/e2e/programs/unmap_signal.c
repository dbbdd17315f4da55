/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A signal whose handler allocates comes at the end of each munmap, where the recorder gives a
 * table of its own back.  Traces itself for that: the parent sends the signals, the child, with the
 * library of argv[1] preloaded, allocates on very many stacks.  Prints its counts as JSON. */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

static _Atomic long allocations, signals;

static void handler(int number)
{
	free(HIDE(malloc(777)));
	allocations++;
	signals++;
	KEEP(number);
}

static void dive(unsigned way, int depth);

static NOINLINE void left(unsigned way, int depth)
{
	dive(way / 2, depth - 1);
	KEEP(depth);
}

static NOINLINE void right(unsigned way, int depth)
{
	dive(way / 2, depth - 1);
	KEEP(way);
}

static NOINLINE void dive(unsigned way, int depth)
{
	if (!depth) {
		free(HIDE(malloc(16)));
		allocations++;
	} else if (way & 1) {
		left(way, depth);
	} else {
		right(way, depth);
	}
	KEEP(depth);
}

static int work(void)
{
	signal(SIGALRM, handler);
	for (unsigned way = 0; way < 1 << 15; way++)
		dive(way, 15);
	say("{\"allocations\": %ld, \"signals\": %ld}\n", allocations, signals);
	return 0;
}

/* All of the child's system calls go by, but munmap once there is a handler. */
static int trace(pid_t child)
{
	struct user_regs_struct regs;
	int status, number = 0;
	bool leaving = false, ready = false;

	waitpid(child, &status, 0);
	ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	for (;;) {
		ptrace(PTRACE_SYSCALL, child, 0, number);
		if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		number = WSTOPSIG(status);
		if (number == SIGTRAP) {
			number = 0;
		} else if (number == (SIGTRAP | 0x80)) {
			number = 0;
			leaving = !leaving;
			ptrace(PTRACE_GETREGS, child, 0, &regs);
			if (!leaving && regs.orig_rax == SYS_rt_sigaction && regs.rdi == SIGALRM)
				ready = true;
			if (!leaving && regs.orig_rax == SYS_munmap && ready)
				kill(child, SIGALRM);
		}
	}
}

int main(int argc, char **argv)
{
	pid_t child;

	if (argc < 2)
		return work();
	child = fork();
	if (!child) {
		setenv("LD_PRELOAD", argv[1], 1);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execl("/proc/self/exe", argv[0], NULL);
		_exit(127);
	}
	return trace(child);
}
