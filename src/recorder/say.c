/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One clear line on stderr when the program cannot be recorded.
 *
 * Written with one raw write.  A daemon may have put something else at descriptor 2 since the
 * start; then nothing is written. */
#include "recorder/limits.h"
#include "recorder/rt.h"
#include "recorder/sys.h"

#include <string.h>
#include <sys/stat.h>

static SYS_STAT start;
static bool have_start;

static bool stat_stderr(SYS_STAT *ret)
{
	return !sys_failed(SYS(SYS_fstat, 2, ret));
}

void say_init(void)
{
	have_start = stat_stderr(&start);
}

void say_describe_stderr(struct shm_control *control)
{
	SYS_STAT now;

	if (!stat_stderr(&now))
		return;
	control->stderr_device = now.st_dev;
	control->stderr_inode = now.st_ino;
	control->stderr_special = now.st_rdev;
}

void say(const char *text, const char *more)
{
	char line[512] = "memoir: ";
	size_t n = strlen(line);
	SYS_STAT now;

	if (!have_start || !stat_stderr(&now) || now.st_dev != start.st_dev ||
	    now.st_ino != start.st_ino || now.st_rdev != start.st_rdev)
		return;
	/* A line too many for a limit on the file that stderr is would end the program. */
	if (S_ISREG(now.st_mode) && !limits_file_may_grow((uint64_t)now.st_size, sizeof(line)))
		return;
	for (; *text && n < sizeof(line) - 2; text++)
		line[n++] = *text;
	for (; more && *more && n < sizeof(line) - 2; more++)
		line[n++] = *more;
	/* A file's name may be in it: none commands the terminal. */
	for (size_t i = 8; i < n; i++) {
		unsigned char c = (unsigned char)line[i], before = (unsigned char)line[i - 1];

		if (c < 0x20 || c == 0x7f ||
		    (c >= 0x80 && c < 0xa0 && (before < 0x80 || before == 0xc2)))
			line[i] = '?';
	}
	line[n++] = '\n';
	SYS(SYS_write, 2, line, n);
}
