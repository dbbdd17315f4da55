/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* confined LEFT-OUT ACTION BY [AFTER]: gives up system calls by a filter and goes on allocating, on
 * threads that were there before, with many stacks that are new.
 *
 *   LEFT-OUT  nothing, or calls that the list of allowed ones lacks: sigmask,futex,mmap,tid,clock
 *   ACTION    kill, errno, trap
 *   BY        prctl, syscall, tsync (a second thread for all), libseccomp
 *   AFTER     fork: a child goes on, too; exec PROGRAM ARGUMENT…; signals: a handler interrupts */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "say.h"

#ifdef LIBSECCOMP
#include <seccomp.h>
#endif

#define THREADS 3
#define DEPTH 13

static const struct {
	const char *left_out;
	int number;
} allowed[] = {
	{ "", SYS_read },
	{ "", SYS_write },
	{ "", SYS_exit },
	{ "", SYS_exit_group },
	{ "", SYS_brk },
	{ "", SYS_rt_sigreturn },
	{ "", SYS_restart_syscall },
	{ "", SYS_seccomp },
	{ "", SYS_setitimer },
	{ "", SYS_wait4 },
	{ "", SYS_madvise },
	{ "", SYS_set_robust_list },
	{ "", SYS_mprotect },
	{ "", SYS_munmap },
	{ "", SYS_mremap },
	{ "sigmask", SYS_rt_sigprocmask },
	{ "futex", SYS_futex },
	{ "mmap", SYS_mmap },
	{ "tid", SYS_gettid },
	{ "tid", SYS_getpid },
	{ "tid", SYS_tgkill },
	{ "clock", SYS_clock_gettime },
	{ "clone", SYS_clone },
	{ "exec", SYS_execve },
	{ "exec", SYS_access },
	{ "exec", SYS_openat },
	{ "exec", SYS_close },
	{ "exec", SYS_newfstatat },
	{ "exec", SYS_fstat },
	{ "exec", SYS_pread64 },
	{ "exec", SYS_arch_prctl },
	{ "exec", SYS_set_tid_address },
	{ "exec", SYS_rseq },
	{ "exec", SYS_prlimit64 },
	{ "exec", SYS_getrandom },
};
#define COUNT (sizeof(allowed) / sizeof(allowed[0]))

static const char *left_out, *by;
static uint32_t answer;
static volatile int stage; /* 1: threads are there; 2: the filter is */
static volatile int ready, finished;
static volatile unsigned long interrupted;

static int is_allowed(unsigned i)
{
	return !*allowed[i].left_out || !strstr(left_out, allowed[i].left_out);
}

static void install_rows(int with_syscall, unsigned flags)
{
	struct sock_filter rows[COUNT + 3] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							offsetof(struct seccomp_data, nr)) };
	struct sock_fprog filter = { 1, rows };

	for (unsigned i = 0; i < COUNT; i++)
		if (is_allowed(i))
			rows[filter.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
									  allowed[i].number, 0, 0);
	for (unsigned i = 1; i < filter.len; i++)
		rows[i].jt = (unsigned char)(filter.len - i);
	rows[filter.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer);
	rows[filter.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (with_syscall ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter)
			 : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0))
		fail("seccomp");
}

static void install_with_library(void)
{
#ifdef LIBSECCOMP
	scmp_filter_ctx c = seccomp_init(answer == SECCOMP_RET_TRAP	   ? SCMP_ACT_TRAP
					 : answer == SECCOMP_RET_ERRNO + 1 ? SCMP_ACT_ERRNO(1)
									   : SCMP_ACT_KILL_PROCESS);

	for (unsigned i = 0; i < COUNT; i++)
		if (is_allowed(i) && seccomp_rule_add(c, SCMP_ACT_ALLOW, allowed[i].number, 0))
			fail("rule");
	if (seccomp_load(c))
		fail("load");
	seccomp_release(c);
#else
	fail("no libseccomp");
#endif
}

static void install(void)
{
	static const struct sock_fprog none = { 1, (struct sock_filter *)8 };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		fail("no new privileges");
	/* Refused: nothing must change for it. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &none) != -1 || errno != EFAULT ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (void *)8, 0, 0) != -1 || errno != EFAULT)
		fail("not refused");
	if (!strcmp(by, "libseccomp"))
		install_with_library();
	else
		install_rows(strcmp(by, "prctl"),
			     strcmp(by, "tsync") ? 0 : SECCOMP_FILTER_FLAG_TSYNC);
}

/* Another stack for each number. */
static NOINLINE void branch(unsigned depth, unsigned number);

static NOINLINE void left(unsigned depth, unsigned number)
{
	branch(depth, number);
	KEEP(depth);
}

static NOINLINE void right(unsigned depth, unsigned number)
{
	branch(depth, number);
	KEEP(number);
}

static NOINLINE void branch(unsigned depth, unsigned number)
{
	if (!depth)
		free(HIDE(malloc(100)));
	else if (number & 1)
		right(depth - 1, number / 2);
	else
		left(depth - 1, number / 2);
	KEEP(depth);
}

static NOINLINE void after(unsigned from)
{
	for (unsigned i = 0; i < 1u << DEPTH; i++)
		branch(DEPTH, i);
	for (unsigned i = 0; i < 50000; i++)
		free(HIDE(malloc(i % 500 + from)));
}

static void *thread(void *number)
{
	if (number)
		free(HIDE(malloc(1)));
	__atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
	while (stage < 2)
		;
	after((unsigned)(uintptr_t)number);
	__atomic_fetch_add(&finished, 1, __ATOMIC_SEQ_CST);
	for (;;)
		if (stage == 3)
			syscall(SYS_exit, 0);
	return NULL;
}

static void *installer(void *unused)
{
	install();
	stage = 2;
	for (;;)
		if (stage == 3)
			syscall(SYS_exit, 0);
	return unused;
}

static void on_signal(int number)
{
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(p, 4096);
	interrupted++;
}

int main(int argc, char **argv)
{
	const char *then = argc > 4 ? argv[4] : "";
	struct itimerval timer = { { 0, 300 }, { 0, 300 } };
	pthread_t id;
	pid_t child;
	int status;

	left_out = argv[1];
	by = argv[3];
	answer = !strcmp(argv[2], "kill")   ? SECCOMP_RET_KILL_PROCESS
		 : !strcmp(argv[2], "trap") ? SECCOMP_RET_TRAP
					    : SECCOMP_RET_ERRNO + 1;
	signal(SIGALRM, on_signal);
	/* Only brk, whatever thread asks for memory. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_MAX, 0);
	for (uintptr_t i = 0; !strcmp(by, "tsync") && i < THREADS; i++)
		pthread_create(&id, NULL, thread, (void *)i);
	if (!strcmp(by, "tsync")) {
		while (ready < THREADS)
			;
		pthread_create(&id, NULL, installer, NULL);
		while (stage < 2)
			;
	} else {
		install();
		stage = 2;
	}
	if (!strcmp(then, "signals"))
		setitimer(ITIMER_REAL, &timer, NULL);
	after(1);
	while (!strcmp(by, "tsync") && finished < THREADS)
		;
	if (!strcmp(then, "fork")) {
		child = (pid_t)fork();
		if (!child) {
			after(2);
			say("child\n");
			syscall(SYS_exit_group, 3);
		}
		wait4(child, &status, 0, NULL);
		say("child ended with %d\n", status);
	}
	if (!strcmp(then, "exec"))
		execv(argv[5], argv + 5);
	say("done\n");
	stage = 3;
	syscall(SYS_exit_group, 4);
	return 99;
}
