/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Starting the collector so that the program does not notice.
 *
 * The program makes a helper that sends no SIGCHLD, and the helper makes the collector, each like
 * vfork: nothing is copied, no handler of pthread_atfork runs, and the program's memory is only
 * borrowed until the collector executes.  Then there are two ways.
 *
 * Neither may have the program's descriptors, not even until it runs for the first time: a process
 * that kills the program and waits for the end of a pipe would wait for that, a tenth of a second
 * where the machine is busy.  A process begins with all of its parent's, so the helper's parent is
 * a thread of the program with a table of its own, which closes them there and makes the helper
 * then.  A process that kills the program kills that thread too, and sees the program's end after
 * the thread's.
 *
 * Mostly the helper ends, and init adopts the collector.  But the adopting process gets a child
 * that wait() sees and that he never made.  Where that would be the program itself, or somebody who
 * counts (process 1 of a container, a subreaper), the helper stays as the collector's parent: it
 * ends after it.  wait() does not see the helper, since it is no child that sends SIGCHLD; the
 * collector itself could not be such a child, because execve() makes every child an ordinary one.
 * The program lets both end before it does (end.c), and nobody has anything to adopt.
 *
 * The helper lives in the program's memory, on a stack of its own, and does nothing but wait.
 * Called once in a process, all signals blocked. */
#include "recorder/rt.h"
#include "recorder/sys.h"

#include <linux/prctl.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>

#include "recorder/clone.h"

#define STACK_SIZE 16384
#define PLACE_SIZE 4096
#define TOTAL_SIZE (PLACE_SIZE + 3 * STACK_SIZE)
/* Untraced: a debugger would announce it as a thread of the program. */
#define THREAD_FLAGS (CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_VFORK | CLONE_UNTRACED)
#define LOOK_NS 50000000ull		     /* the helper has not answered: is it there? */
#define THREAD_LOOK_NS 20000ull		     /* the thread has ended, but for the last of it */
#define INITIAL_NAMESPACE "pid:[4026531836]" /* the same number on every machine */

/* At the start of the memory that the helper keeps. */
struct spawn {
	const char *path;
	char *const *arguments, *const *environment;
	int memfd;
	bool stay;    /* the helper does not end before the collector */
	char *stacks; /* of the collector until it executes, the helper and the thread */
	struct sys_signals signals;
	long helper; /* its pid, or -errno */
	long pid, error;
	_Atomic uint32_t started, ended; /* futexes: the collector has executed, or is gone */
};

static struct {
	long pid; /* of the helper that stays; 0: there is none */
	struct spawn *place;
} helper;

static void become_collector(void *context)
{
	struct spawn *s = context;

	/* The table of descriptors is a copy: the program's own keeps its close-on-exec. */
	SYS(SYS_fcntl, s->memfd, F_SETFD, 0);
	SYS(SYS_rt_sigprocmask, SIG_SETMASK, &s->signals, 0, SYS_SIGNALS_SIZE);
	s->error = SYS(SYS_execve, s->path, s->arguments, s->environment);
	SYS(SYS_exit_group, 127);
}

/* A pipe held open would hang who reads it, a folder keep a file system busy. */
static void leave_everything(void)
{
	if (sys_failed(SYS(SYS_close_range, 0, ~0u, 0)))
		for (int fd = 0; fd < 4096; fd++)
			SYS(SYS_close, fd);
	SYS(SYS_chdir, "/");
	SYS(SYS_setsid, 0);
	SYS(SYS_prctl, PR_SET_NAME, "memoir-waiter");
}

/* All but the memory's.  A kernel without the call leaves it to the collector. */
static void leave_descriptors(int memfd)
{
	if (memfd > 0)
		sys_call(SYS_close_range, 0, memfd - 1, 0, 0, 0, 0);
	sys_call(SYS_close_range, memfd + 1, ~0u, 0, 0, 0, 0);
}

/* The memory is the program's, which may say any time that it makes no system calls any more
 * (SYS); that does not go for this process. */
static void be_helper(void *context)
{
	struct spawn *s = context;

	leave_descriptors(s->memfd);
	s->pid = clone_call(CLONE_VM | CLONE_VFORK, s->stacks + STACK_SIZE, become_collector, s);
	if (s->stay && !sys_failed(s->pid) && !s->error)
		leave_everything();
	else
		s->stay = false;
	atomic_store(&s->started, 1);
	sys_call(SYS_futex, (long)&s->started, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
	while (s->stay && sys_call(SYS_wait4, s->pid, 0, __WALL, 0, 0, 0) == -EINTR)
		;
	atomic_store(&s->ended, 1);
	sys_call(SYS_futex, (long)&s->ended, FUTEX_WAKE, INT32_MAX, 0, 0, 0);
	for (;;)
		sys_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
}

/* Where no thread can be had the program makes it, and it has the descriptors until it runs. */
static void make_helper(struct spawn *s)
{
	/* One that stays is not for tracers: they would take it for a thread. */
	s->helper = clone_call(s->stay ? CLONE_VM | CLONE_UNTRACED : CLONE_VM | CLONE_VFORK,
			       s->stacks + 2 * STACK_SIZE, be_helper, s);
}

static void be_thread(void *context)
{
	struct spawn *s = context;

	leave_descriptors(s->memfd);
	make_helper(s);
	for (;;)
		sys_call(SYS_exit, 0, 0, 0, 0, 0, 0);
}

/* It has let our memory go, but it counts as long as it has a number: there are system calls that
 * only a program of one thread may make. */
static void wait_for_thread(long tid)
{
	_Atomic uint32_t nobody = 0;

	while (!SYS(SYS_tgkill, sys_getpid(), tid, 0))
		sys_futex_wait(&nobody, 0, THREAD_LOOK_NS);
}

/* Would an orphan be adopted by somebody who notices?  In a namespace of processes other than the
 * machine's own that is its process 1, with whose end the collector ends too.  Where that cannot be
 * found out it may be so. */
static bool orphan_is_noticed(const struct shm_control *control)
{
	char name[64];
	int adopts = 0;
	long n;

	SYS(SYS_prctl, PR_GET_CHILD_SUBREAPER, &adopts);
	if (adopts || atomic_load(&control->family.adopts) || sys_getpid() == 1)
		return true;
	n = SYS(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid", name, sizeof(name));
	return n != sizeof(INITIAL_NAMESPACE) - 1 || memcmp(name, INITIAL_NAMESPACE, (size_t)n);
}

/* False: it has not ended yet. */
static bool reap(long pid, int flags)
{
	long result;

	do
		result = SYS(SYS_wait4, pid, 0, __WCLONE | flags, 0);
	while (result == -EINTR);
	return result;
}

/* The helper that stays runs beside us. */
static void wait_until_started(struct spawn *s, long pid)
{
	while (!atomic_load(&s->started)) {
		sys_futex_wait(&s->started, 0, LOOK_NS);
		if (!atomic_load(&s->started) && reap(pid, WNOHANG)) {
			s->error = -ECHILD;
			s->stay = false;
			return;
		}
	}
}

long spawn_collector(const char *path, int memfd, char *const *environment,
		     const struct shm_control *control)
{
	char fd_text[12], pid_text[12];
	char *arguments[] = { (char *)"memoir-collector", (char *)"--shm-fd", fd_text,
			      (char *)"--target",	  pid_text,	      NULL };
	struct spawn *s = sys_map_private(TOTAL_SIZE);
	long thread, result;

	helper.pid = 0;
	if (!s)
		return -ENOMEM;
	*s = (struct spawn){ .path = path,
			     .arguments = arguments,
			     .environment = environment,
			     .memfd = memfd,
			     .stay = orphan_is_noticed(control),
			     .stacks = (char *)s + PLACE_SIZE,
			     .helper = -EAGAIN };
	text_number(fd_text, (uint64_t)memfd);
	text_number(pid_text, (uint64_t)sys_getpid());
	sys_block_signals(&s->signals);
	thread = clone_call(THREAD_FLAGS, s->stacks + 3 * STACK_SIZE, be_thread, s);
	if (!sys_failed(thread))
		wait_for_thread(thread);
	if (sys_failed(s->helper))
		make_helper(s);
	if (!sys_failed(s->helper)) {
		wait_until_started(s, s->helper);
		result = s->error ? s->error : s->pid;
		if (s->stay)
			helper.pid = s->helper;
		else
			reap(s->helper, 0);
	} else {
		result = s->helper;
		s->stay = false;
	}
	helper.place = s;
	sys_restore_signals(&s->signals);
	if (!helper.pid)
		sys_unmap(s, TOTAL_SIZE);
	return result;
}

bool spawn_stays(void)
{
	return helper.pid;
}

bool spawn_ended(uint64_t timeout_ns)
{
	bool ended;

	if (!helper.pid)
		return true;
	if (!atomic_load(&helper.place->ended))
		sys_futex_wait(&helper.place->ended, 0, timeout_ns);
	/* Once it has said so it has nothing left to do but to end. */
	ended = atomic_load(&helper.place->ended);
	if (!reap(helper.pid, ended ? 0 : WNOHANG))
		return false;
	helper.pid = 0;
	return true;
}
