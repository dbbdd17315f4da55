/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* process_setup HOW: things that servers do at start-up and that must not disturb a recording; then
 * allocates 1000 blocks of 123 bytes in after(), and says "done" to the file named by the second
 * argument or to stdout. */
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "say.h"

static void *kept[1000];

static NOINLINE void before(void)
{
	for (int i = 0; i < 1000; i++)
		free(HIDE(malloc(321)));
}

static NOINLINE void after(void)
{
	for (int i = 0; i < 1000; i++)
		kept[i] = HIDE(malloc(123));
	KEEP(kept[0]);
}

static void daemonise(void)
{
	if (fork() > 0)
		_exit(0);
	setsid();
	if (fork() > 0)
		_exit(0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "nothing";
	int out = argc > 2 ? open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0666) : 1;
	struct rlimit limit;

	before();
	if (!strcmp(how, "closefrom")) {
		if (out != 1)
			dup2(out, 1), out = 1;
		closefrom(3);
	} else if (!strcmp(how, "close_range")) {
		if (syscall(SYS_close_range, 3u, ~0u, 0u))
			fail("close_range");
	} else if (!strcmp(how, "close-all")) {
		for (int fd = 3; fd < 65536; fd++)
			close(fd);
	} else if (!strcmp(how, "close-std")) {
		close(0);
		close(2);
	} else if (!strcmp(how, "dup-over")) { /* every free number is taken and written to */
		for (int fd = 3; fd < 200; fd++)
			if (dup2(1, fd) != fd)
				fail("dup2");
		for (int fd = 3; fd < 200; fd++)
			if (write(fd, ".", 1) != 1)
				fail("write");
	} else if (!strcmp(how, "setsid")) {
		setsid();
	} else if (!strcmp(how, "daemon")) {
		daemonise();
	} else if (!strcmp(how, "chroot")) {
		if (chroot("/proc") || chdir("/"))
			fail("chroot");
	} else if (!strcmp(how, "setuid")) {
		if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
			fail("setuid");
	} else if (!strcmp(how, "no-new-files")) {
		limit.rlim_cur = limit.rlim_max = 3;
		if (setrlimit(RLIMIT_NOFILE, &limit))
			fail("setrlimit");
	} else if (!strcmp(how, "no-more-memory")) {
		limit.rlim_cur = limit.rlim_max = 1 << 20;
		if (setrlimit(RLIMIT_AS, &limit))
			fail("setrlimit");
	} else if (!strcmp(how, "no-core")) {
		prctl(PR_SET_DUMPABLE, 0);
	} else if (!strcmp(how, "block-signals")) {
		sigset_t all;

		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
	} else if (!strcmp(how, "rename")) {
		prctl(PR_SET_NAME, "another-name");
	} else if (!strcmp(how, "umask")) {
		umask(0777);
	} else if (!strcmp(how, "chdir")) {
		if (chdir("/"))
			fail("chdir");
	} else if (!strcmp(how, "clearenv")) {
		clearenv();
	} else if (strcmp(how, "nothing")) {
		fail("unknown: %s", how);
	}
	after();
	if (write(out, "done\n", 5) != 5)
		return 3;
	return 0;
}
