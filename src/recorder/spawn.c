/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Starting the collector so that the program does not notice.
 *
 * Two steps, each like vfork: the program makes a helper that sends no SIGCHLD, the helper makes
 * the collector and ends, the collector is adopted by init.  Nothing is copied, no handler of
 * pthread_atfork runs, and the program's memory is only borrowed until the collector executes.
 * Called once, all signals blocked. */
#include "recorder/rt.h"
#include "recorder/sys.h"

#include <sched.h>
#include <sys/wait.h>

#include "recorder/x86_64/clone.h"

#define STACK_SIZE 16384

struct spawn {
	const char *path;
	char *const *arguments, *const *environment;
	int memfd;
	char *stack; /* of the collector until it executes */
	uint64_t signals;
	_Atomic long pid, error;
};

static void become_collector(void *context)
{
	struct spawn *s = context;

	/* The table of descriptors is a copy: the program's own keeps its close-on-exec. */
	SYS(SYS_fcntl, s->memfd, F_SETFD, 0);
	sys_restore_signals(&s->signals);
	atomic_store(&s->error, SYS(SYS_execve, s->path, s->arguments, s->environment));
	SYS(SYS_exit_group, 127);
}

static void be_helper(void *context)
{
	struct spawn *s = context;

	atomic_store(&s->pid, clone_call(CLONE_VM | CLONE_VFORK, s->stack + STACK_SIZE,
					 become_collector, s));
	SYS(SYS_exit_group, 0);
}

static void put_number(char *out, unsigned v)
{
	char digits[12];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*out++ = digits[--n];
	*out = 0;
}

long spawn_collector(const char *path, int memfd, char *const *environment)
{
	char fd_text[12], pid_text[12];
	char *arguments[] = { (char *)"memoir-collector", (char *)"--shm-fd", fd_text,
			      (char *)"--target",	  pid_text,	      NULL };
	char *stacks = sys_map_private(2 * STACK_SIZE);
	struct spawn s = { .path = path,
			   .arguments = arguments,
			   .environment = environment,
			   .memfd = memfd,
			   .stack = stacks };
	long helper, result;

	if (!stacks)
		return -ENOMEM;
	put_number(fd_text, (unsigned)memfd);
	put_number(pid_text, (unsigned)sys_getpid());
	sys_block_signals(&s.signals);
	helper = clone_call(CLONE_VM | CLONE_VFORK, stacks + 2 * STACK_SIZE, be_helper, &s);
	if (!sys_failed(helper)) {
		while (SYS(SYS_wait4, helper, 0, __WCLONE, 0) == -EINTR)
			;
		result = atomic_load(&s.error) ? atomic_load(&s.error) : atomic_load(&s.pid);
	} else {
		result = helper;
	}
	sys_restore_signals(&s.signals);
	sys_unmap(stacks, 2 * STACK_SIZE);
	return result;
}
