/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A collector becomes a daemon.  See daemonize.h.
 *
 * Why each matters: an inherited pipe held open hangs `$(program)` and `program | cat`; a terminal
 * held keeps an ssh session from closing; the session and group would send us the program's ^C; a
 * working directory keeps a file system busy; ignored signals and a blocked mask are inherited. */
#include "collector/daemonize.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wire/page.h"
#include "wire/shm.h"

#define KEPT_FD 3

static void close_range_or_all(unsigned first)
{
	DIR *dir;

#ifdef SYS_close_range
	if (!syscall(SYS_close_range, first, ~0u, 0))
		return;
#endif
	dir = opendir("/proc/self/fd");
	if (!dir) {
		for (unsigned fd = first; fd < 65536; fd++)
			close((int)fd);
		return;
	}
	for (struct dirent *e; (e = readdir(dir));) {
		int fd = atoi(e->d_name);

		if (fd >= (int)first && fd != dirfd(dir))
			close(fd);
	}
	closedir(dir);
}

static void put_signals_in_order(void)
{
	static const int ignored[] = { SIGHUP,	SIGINT,	 SIGQUIT, SIGPIPE, SIGTERM,
				       SIGTSTP, SIGTTIN, SIGTTOU, SIGXFSZ };
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void raise_limit(int which)
{
	struct rlimit limit;

	if (!getrlimit(which, &limit) && limit.rlim_cur != limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(which, &limit);
	}
}

void daemonize_raise_limits(void)
{
	raise_limit(RLIMIT_FSIZE);
	raise_limit(RLIMIT_AS);
	raise_limit(RLIMIT_NOFILE);
}

int daemonize_size_memory(int fd)
{
	struct rlimit before, limit = { RLIM_INFINITY, RLIM_INFINITY };
	struct sigaction action = { .sa_handler = SIG_IGN }, old;
	uint64_t size = SHM_FILE_SIZE;
	int error = 0;

	/* The file is sparse and never on a disk: the limit is not meant for it. */
	getrlimit(RLIMIT_FSIZE, &before);
	if (before.rlim_cur != RLIM_INFINITY && setrlimit(RLIMIT_FSIZE, &limit) < 0) {
		limit.rlim_cur = limit.rlim_max = before.rlim_max;
		setrlimit(RLIMIT_FSIZE, &limit);
		if (before.rlim_max < size)
			size = page_down(before.rlim_max);
	}
	sigaction(SIGXFSZ, &action, &old);
	if (size < SHM_FILE_SIZE_MIN)
		error = -EFBIG;
	else if (ftruncate(fd, (off_t)size) < 0)
		error = -errno;
	sigaction(SIGXFSZ, &old, NULL);
	setrlimit(RLIMIT_FSIZE, &before);
	return error;
}

void daemonize(int *fd)
{
	int null;

	unsetenv("LD_PRELOAD");
	put_signals_in_order();
	setsid();
	if (*fd != KEPT_FD && dup2(*fd, KEPT_FD) == KEPT_FD)
		*fd = KEPT_FD;
	fcntl(*fd, F_SETFD, FD_CLOEXEC);
	null = open("/dev/null", O_RDWR | O_NOCTTY);
	for (int i = 0; i < KEPT_FD; i++)
		if (null < 0 || dup2(null, i) < 0)
			close(i);
	close_range_or_all(KEPT_FD + 1);
	daemonize_raise_limits();
	prctl(PR_SET_NAME, "memoir-collector");
}

void daemonize_leave_directory(void)
{
	if (chdir("/"))
		return; /* then a file system stays busy for as long as we live */
}
