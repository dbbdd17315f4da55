/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Live processes.  See live.h. */
#include "cli/jemalloc/live.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "base/xalloc.h"
#include "cli/say.h"

#define SECOND UINT64_C(1000000000)

const char *live_pid, *live_letters;
bool live_text;

bool live_begins_command(const char *word)
{
	struct stat st;

	if (http_is_address(word) || !strcmp(word, "-"))
		return false;
	return stat(word, &st) < 0 || (S_ISREG(st.st_mode) && !access(word, X_OK));
}

bool live_is_file(int argc, char **argv)
{
	return argc == 1 && !live_pid && !http_is_address(argv[0]);
}

int live_fetch(struct fetch *f, const char *command, int argc, char **argv)
{
	char letters[64];
	struct err err = { .offset = ERR_NO_OFFSET };
	int e;

	if (live_letters &&
	    (strlen(live_letters) > 40 || live_letters[strspn(live_letters, "gmdablxehJ")]))
		return say_wrong(command, "--options takes letters of g m d a b l x e h");
	snprintf(letters, sizeof(letters), "%s%s", live_text ? "" : "J",
		 live_letters ? live_letters : "");
	if (live_pid) {
		long pid = strtol(live_pid, NULL, 10);

		if (argc || pid <= 0 || pid > INT_MAX)
			return say_wrong(command,
					 argc ? "--pid, or an address, or a command: one of them"
					      : "--pid needs a number");
		e = fetch_pid(f, (pid_t)pid, letters, &err);
	} else if (argc == 1 && http_is_address(argv[0])) {
		e = fetch_address(f, argv[0], letters, &err);
	} else if (argc && !http_is_address(argv[0])) {
		fetch_command(f, argv);
		return 0;
	} else {
		return say_wrong(command, "from where? http://HOST:PORT/stats, unix:/SOCKET, "
					  "--pid PID, or a command that prints statistics");
	}
	return e == -EINVAL ? say_wrong(command, "%s", err.text)
	       : e	    ? say_failed(command, NULL, &err)
			    : 0;
}

bool live_interval(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = { { "", 1 }, { "s", 1 }, { "ms", 0.001 }, { "m", 60 }, { "h", 3600 } };
	char *end;
	double value;

	if (*text < '0' || *text > '9')
		return false;
	value = strtod(text, &end);
	for (unsigned i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(end, units[i].name)) {
			value *= units[i].seconds;
			if (!(value >= 0.001 && value <= 86400.0 * 366))
				return false;
			*ret_ns = (uint64_t)(value * 1e9 + 0.5);
			return true;
		}
	return false;
}

int64_t live_now(void)
{
	return (int64_t)now_on(CLOCK_REALTIME);
}

int live_clock_init(struct live_clock *c, uint64_t interval_ns, struct err *err)
{
	sigset_t set;

	*c = (struct live_clock){ .interval_ns = interval_ns, .next_ns = now_ns() };
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	c->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return c->signals < 0 ? err_set(err, -errno, "signalfd: %s", strerror(errno)) : 0;
}

void live_clock_release(struct live_clock *c)
{
	close_fd(&c->signals);
}

static void read_signals(struct live_clock *c)
{
	struct signalfd_siginfo info;

	while (read(c->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGWINCH)
			c->resized = true;
		else
			c->stop = true;
	}
}

bool live_clock_wait(struct live_clock *c, int input)
{
	c->resized = c->key = false;
	for (;;) {
		struct pollfd p[2] = { { .fd = c->signals, .events = POLLIN },
				       { .fd = input, .events = POLLIN } };
		uint64_t now = now_ns(), left = c->next_ns > now ? c->next_ns - now : 0;
		struct timespec t = { .tv_sec = (time_t)(left / SECOND),
				      .tv_nsec = (long)(left % SECOND) };

		if (ppoll(p, input < 0 ? 1 : 2, &t, NULL) > 0) {
			if (p[0].revents)
				read_signals(c);
			c->key = input >= 0 && p[1].revents;
			if (c->stop || c->resized || c->key)
				return false;
			continue;
		}
		now = now_ns();
		if (now < c->next_ns)
			continue;
		/* A tick whose time has passed altogether is left out, and the next is where it
		 * would have been. */
		c->missed += (now - c->next_ns) / c->interval_ns;
		c->next_ns += ((now - c->next_ns) / c->interval_ns + 1) * c->interval_ns;
		return true;
	}
}
