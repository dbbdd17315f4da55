/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the program calls itself, and the most memory that it had: both can only be asked while it
 * is there, so they are looked at now and then, and once more while it waits for us to end.
 *
 * A program sets its title by writing over its own arguments (postgres, nginx, redis), which a
 * forked child does after its recording began.  What differs from the command line that the
 * recording has is written as INFO `title`; the last one counts.  A child that ends while its
 * collector still reads what it inherited is not waited for: it is looked at meanwhile, and
 * written down later. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/collector.h"

/* A file of /proc/PID as a text without its end of blanks and NULs: its length; 0 if it cannot be
 * read, or is about to be another program's. */
static size_t read_proc(const struct collector *c, const char *name, char *text, size_t size)
{
	char path[40];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)collector_in_proc(c), name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	if (n <= 0 || atomic_load(&c->control->family.exec_pending))
		return 0;
	while (n && (text[n - 1] == ' ' || !text[n - 1]))
		text[--n] = 0;
	return (size_t)n;
}

static void join_words(char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		text[i] = text[i] ? text[i] : ' ';
}

/* In KiB; 0: not known. */
static uint64_t peak_rss(const struct collector *c)
{
	char text[2048];
	const char *line;

	if (!read_proc(c, "status", text, sizeof(text)))
		return 0;
	line = strstr(text, "\nVmHWM:");
	return line ? strtoull(line + 7, NULL, 10) : 0;
}

void title_start(struct collector *c)
{
	size_t n = read_proc(c, "cmdline", c->title, sizeof(c->title));
	bool one_word = n && !memchr(c->title, 0, n);

	c->title[n] = 0;
	join_words(c->title, n);
	/* It may have been quicker than its collector: no program is called that. */
	if (one_word && strchr(c->title, ' '))
		info_write_text(c, "title", c->title);
}

void title_read(struct collector *c)
{
	char title[sizeof(c->title)];
	uint64_t rss = peak_rss(c);
	size_t n = read_proc(c, "cmdline", title, sizeof(title));

	join_words(title, n);
	if (n)
		memcpy(c->title_seen, title, n + 1);
	if (rss > c->peak_rss)
		c->peak_rss = rss;
}

void title_look(struct collector *c)
{
	title_read(c);
	title_write(c);
}

void title_write(struct collector *c)
{
	if (!c->title_seen[0] || !strcmp(c->title_seen, c->title))
		return;
	memcpy(c->title, c->title_seen, sizeof(c->title));
	info_write_text(c, "title", c->title);
}
