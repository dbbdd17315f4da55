/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ticks, signals and keys.  See ticks.h. */
#include "cli/ticks.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/now.h"
#include "base/xalloc.h"

#define SECOND UINT64_C(1000000000)

bool ticks_interval(const char *text, uint64_t *ret_ns)
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

int ticks_init(struct ticks *c, uint64_t interval_ns, bool screen, struct err *err)
{
	sigset_t set;

	*c = (struct ticks){ .interval_ns = interval_ns, .next_ns = now_ns() };
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGWINCH);
	if (screen) {
		sigaddset(&set, SIGTSTP);
		sigaddset(&set, SIGCONT);
		sigaddset(&set, SIGQUIT);
	}
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	c->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return c->signals < 0 ? err_set(err, -errno, "signalfd: %s", strerror(errno)) : 0;
}

void ticks_release(struct ticks *c)
{
	close_fd(&c->signals);
}

void ticks_read_signals(struct ticks *c)
{
	struct signalfd_siginfo info;

	while (read(c->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGWINCH)
			c->resized = true;
		else if (info.ssi_signo == SIGTSTP)
			c->suspend = true;
		else if (info.ssi_signo == SIGCONT)
			c->continued = true;
		else
			c->stop = true;
	}
}

bool ticks_wait(struct ticks *c, int input)
{
	c->resized = c->suspend = c->continued = c->key = false;
	for (;;) {
		struct pollfd p[2] = { { .fd = c->signals, .events = POLLIN },
				       { .fd = input, .events = POLLIN } };
		uint64_t now = now_ns(), left = c->next_ns > now ? c->next_ns - now : 0;
		struct timespec t = { .tv_sec = (time_t)(left / SECOND),
				      .tv_nsec = (long)(left % SECOND) };

		if (ppoll(p, input < 0 ? 1 : 2, &t, NULL) > 0) {
			if (p[0].revents)
				ticks_read_signals(c);
			c->key = input >= 0 && p[1].revents;
			if (c->stop || c->resized || c->suspend || c->continued || c->key)
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
