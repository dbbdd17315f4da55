/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Live processes.  See live.h. */
#include "cli/jemalloc/live.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "base/xalloc.h"
#include "cli/say.h"

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

int64_t live_now(void)
{
	return (int64_t)now_on(CLOCK_REALTIME);
}
