/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Prints everything about itself that a guest must leave alone: descriptors, threads, children,
 * signal dispositions and mask, environment, umask, name, limits, session, timers, locale of time.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "say.h"

static int by_number(const void *a, const void *b)
{
	return atoi(*(char *const *)a) - atoi(*(char *const *)b);
}

static void list(const char *title, const char *path, int show)
{
	char *names[256];
	int count = 0;
	DIR *directory = opendir(path);
	struct dirent *entry;

	while (directory && (entry = readdir(directory)) && count < 256)
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(directory))
			names[count++] = strdup(entry->d_name);
	qsort(names, (size_t)count, sizeof(names[0]), by_number);
	say("%s: %d", title, count);
	for (int i = 0; i < count; i++) {
		if (show)
			say(" %s", names[i]);
		free(names[i]);
	}
	say("\n");
	closedir(directory);
}

int main(int argc, char **argv)
{
	extern char **environ;
	struct itimerval timer;
	struct rlimit limit;
	sigset_t mask;
	char text[4096];
	mode_t mode;
	int fd, status;
	ssize_t n;

	for (int i = 0; i < 5000; i++)
		free(HIDE(malloc((size_t)i)));
	list("descriptors", "/proc/self/fd", 1);
	list("threads", "/proc/self/task", 0);
	fd = open("/proc/thread-self/children", O_RDONLY);
	n = fd >= 0 ? read(fd, text, sizeof(text)) : 0;
	say("children: %zd bytes\n", n);
	close(fd);
	say("waitpid: %d ", waitpid(-1, &status, WNOHANG));
	say("errno %d\n", errno);
	for (int i = 1; i < 65; i++) {
		struct sigaction action;

		if (sigaction(i, NULL, &action))
			continue;
		if (action.sa_handler != SIG_DFL)
			say("signal %d: %s flags %x\n", i,
			    action.sa_handler == SIG_IGN ? "ignored" : "handled",
			    (unsigned)action.sa_flags);
	}
	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (int i = 1; i < 65; i++)
		if (sigismember(&mask, i) == 1)
			say("blocked %d\n", i);
	sigpending(&mask);
	for (int i = 1; i < 65; i++)
		if (sigismember(&mask, i) == 1)
			say("pending %d\n", i);
	for (char **e = environ; *e; e++)
		say("env %s\n", *e);
	mode = umask(0);
	say("umask %o\n", (unsigned)mode);
	prctl(PR_GET_NAME, text);
	say("name %s\n", text);
	say("dumpable %d subreaper ", prctl(PR_GET_DUMPABLE));
	status = -1;
	prctl(PR_GET_CHILD_SUBREAPER, &status);
	say("%d pdeathsig ", status);
	prctl(PR_GET_PDEATHSIG, &status);
	say("%d\n", status);
	for (int i = 0; i < RLIMIT_NLIMITS; i++) {
		getrlimit((__rlimit_resource_t)i, &limit);
		say("limit %d: %lx %lx\n", i, limit.rlim_cur, limit.rlim_max);
	}
	for (int i = 0; i < 3; i++) {
		getitimer((__itimer_which_t)i, &timer);
		say("timer %d: %ld\n", i, timer.it_value.tv_sec * 1000000 + timer.it_value.tv_usec);
	}
	n = readlink("/proc/self/exe", text, sizeof(text) - 1);
	text[n < 0 ? 0 : n] = 0;
	say("exe %s\n", text);
	say("cwd %s\n", getcwd(text, sizeof(text)));
	say("leader of its session %d, of its group %d\n", getsid(0) == getpid(),
	    getpgrp() == getpid());
	for (int i = 0; i < argc; i++)
		say("argv %s\n", argv[i]);
	/* A child that it starts is the only one it has. */
	if (fork() == 0)
		_exit(3);
	say("child: %d ", wait(&status) > 0);
	say("%d ", WEXITSTATUS(status));
	say("then %d\n", wait(&status));
	return 0;
}
