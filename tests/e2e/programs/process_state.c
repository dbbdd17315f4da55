/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Prints what the kernel and libc know of a process that should be the same with and without a
 * guest: one line each.  In main, in a forked child, in a thread, and then, with the argument
 * "again", as a child's program and as what this process becomes. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int constructor_errno, main_errno;

__attribute__((constructor)) static void early(void)
{
	constructor_errno = errno;
}

static void print_status(const char *who)
{
	static const char *const wanted[] = {
		"Name:",       "Umask:",       "TracerPid:",   "Uid:",	      "Gid:",
		"FDSize:",     "Groups:",      "Threads:",     "SigPnd:",     "ShdPnd:",
		"SigBlk:",     "SigIgn:",      "SigCgt:",      "CapInh:",     "CapPrm:",
		"CapEff:",     "CapBnd:",      "CapAmb:",      "NoNewPrivs:", "Seccomp:",
		"Seccomp_fil", "Cpus_allowed", "Mems_allowed", "CoreDumping", "VmLck:",
		"VmPin:",      "THP_enabled",  "Speculation",  "HugetlbPages"
	};
	char line[4096];
	FILE *f = fopen("/proc/thread-self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
			if (!strncmp(line, wanted[i], strlen(wanted[i])))
				printf("%s status %s", who, line);
	if (f)
		fclose(f);
}

static void print_file(const char *who, const char *path)
{
	char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	for (ssize_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = '|';
	printf("%s %s %.*s\n", who, path, (int)(n < 0 ? 0 : n), text);
	close(fd);
}

static void print_descriptors(const char *who)
{
	DIR *dir = opendir("/proc/self/fd");

	for (int fd = 0; fd < 256; fd++) {
		char path[40], target[256];
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 0 || fd == dirfd(dir))
			continue;
		target[n] = 0;
		/* Numbers of pipes differ from run to run. */
		printf("%s fd %d %.5s flags %x %x\n", who, fd, target, fcntl(fd, F_GETFD),
		       fcntl(fd, F_GETFL));
	}
	closedir(dir);
}

static void print_kernel(const char *who)
{
	struct itimerval timer;
	struct sched_param param;
	struct rlimit limit;
	stack_t stack;
	int value = 0;

	for (int i = 0; i < RLIM_NLIMITS; i++) {
		getrlimit(i, &limit);
		printf("%s limit %d %lx %lx\n", who, i, (long)limit.rlim_cur, (long)limit.rlim_max);
	}
	printf("%s dumpable %d keepcaps %d slack %d securebits %d thp %d tsc %d mce %d\n", who,
	       prctl(PR_GET_DUMPABLE), prctl(PR_GET_KEEPCAPS), prctl(PR_GET_TIMERSLACK),
	       prctl(PR_GET_SECUREBITS), prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0),
	       (prctl(PR_GET_TSC, &value), value), prctl(PR_MCE_KILL_GET, 0, 0, 0, 0));
	prctl(PR_GET_PDEATHSIG, &value);
	printf("%s pdeathsig %d", who, value);
	prctl(PR_GET_CHILD_SUBREAPER, &value);
	printf(" subreaper %d personality %x\n", value, personality(0xffffffff));
	sched_getparam(0, &param);
	printf("%s nice %d scheduler %d %d ioprio %ld\n", who, getpriority(PRIO_PROCESS, 0),
	       sched_getscheduler(0), param.sched_priority, syscall(SYS_ioprio_get, 1, 0));
	for (int i = 0; i < 3; i++) {
		getitimer(i, &timer);
		printf("%s timer %d %ld\n", who, i, timer.it_value.tv_sec);
	}
	sigaltstack(NULL, &stack);
	printf("%s altstack %d %zu\n", who, stack.ss_flags, stack.ss_size);
	printf("%s leader %d %d\n", who, getsid(0) == getpid(), getpgrp() == getpid());
}

static void print_libc(const char *who)
{
	struct sigaction action;
	unsigned mxcsr;

	__asm__("stmxcsr %0" : "=m"(mxcsr));
	printf("%s mxcsr %x round %d excepts %d\n", who, mxcsr, fegetround(),
	       fetestexcept(FE_ALL_EXCEPT));
	for (int i = 1; i < NSIG; i++)
		if (!sigaction(i, NULL, &action) && action.sa_handler != SIG_DFL)
			printf("%s handler of %d: %s\n", who, i,
			       action.sa_handler == SIG_IGN ? "ignored" : "set");
	printf("%s dlerror %s\n", who, dlerror() ? "set" : "none");
}

static void print_all(const char *who)
{
	print_status(who);
	print_file(who, "/proc/self/cmdline");
	print_file(who, "/proc/self/comm");
	print_file(who, "/proc/self/oom_score_adj");
	print_file(who, "/proc/self/coredump_filter");
	print_file(who, "/proc/self/timerslack_ns");
	print_file(who, "/proc/self/loginuid");
	print_file(who, "/proc/thread-self/children");
	print_descriptors(who);
	print_kernel(who);
	print_libc(who);
	fflush(stdout);
}

static void *in_thread(void *who)
{
	free(malloc(100));
	print_status(who);
	print_libc(who);
	fflush(stdout);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int status;

	main_errno = errno;
	printf("errno %d %d name %s %s\n", constructor_errno, main_errno, program_invocation_name,
	       program_invocation_short_name);
	free(malloc(1000));
	print_all("main");
	if (!fork()) {
		free(malloc(1000));
		print_all("child");
		_exit(0);
	}
	wait(&status);
	pthread_create(&thread, NULL, in_thread, "thread");
	pthread_join(thread, NULL);
	if (argc > 1 && !strcmp(argv[1], "again")) {
		if (!fork()) {
			execl(argv[0], argv[0], "the child", (char *)NULL);
			_exit(9);
		}
		wait(&status);
		execl(argv[0], argv[0], "the successor", (char *)NULL);
	}
	return WEXITSTATUS(status);
}
