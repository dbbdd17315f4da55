/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* /tmp/perf-PID.map.  See perf_map.h. */
#include "collector/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/order.h"
#include "base/read_file.h"
#include "base/xalloc.h"
#include "collector/collector.h"
#include "collector/log.h"

void perf_map_init(struct perf_map *m)
{
	*m = (struct perf_map){ .folder = -1 };
}

static void forget_lines(struct perf_map *m)
{
	buf_clear(&m->text);
	m->parsed = m->count = 0;
}

void perf_map_release(struct perf_map *m)
{
	if (m->folder >= 0)
		close(m->folder);
	buf_release(&m->text);
	free(m->entries);
	perf_map_init(m);
}

/* The number by which a program in a namespace of processes knows itself: the last of NSpid. */
static int own_number(pid_t in_proc, int otherwise)
{
	char path[40], line[256];
	int number = otherwise;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)in_proc);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		const char *last = strrchr(line, '\t');

		if (strncmp(line, "NSpid:", 6) == 0 && last && atoi(last + 1) > 0)
			number = atoi(last + 1);
	}
	if (f)
		fclose(f);
	return number;
}

/* Its folder is opened while it is there: it can be read in when the program is gone. */
static void find_folder(struct perf_map *m, const struct collector *c)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	pid_t in_proc = collector_in_proc(c);
	struct stat st;
	char path[40];

	m->looked = true;
	snprintf(m->name, sizeof(m->name), "perf-%d.map", own_number(in_proc, (int)c->target));
	if (c->control->family.origin == ORIGIN_FORK)
		snprintf(m->parent_name, sizeof(m->parent_name), "perf-%d.map",
			 (int)c->control->family.parent_pid);
	snprintf(path, sizeof(path), "/proc/%d", (int)in_proc);
	m->owner = stat(path, &st) ? geteuid() : st.st_uid;
	snprintf(path, sizeof(path), "/proc/%d/root/tmp", (int)in_proc);
	m->folder = open(path, flags);
	if (m->folder < 0)
		m->folder = open("/tmp", flags);
}

static int open_map(struct perf_map *m, const struct collector *c, struct stat *ret_st)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
	int fd;

	if (!m->looked)
		find_folder(m, c);
	fd = openat(m->folder, m->name, flags);
	if (fd < 0 && errno == ENOENT && m->parent_name[0])
		fd = openat(m->folder, m->parent_name, flags);
	if (fd < 0)
		return -1;
	if (fstat(fd, ret_st) == 0 && S_ISREG(ret_st->st_mode) &&
	    (ret_st->st_uid == m->owner || ret_st->st_uid == geteuid() || !ret_st->st_uid))
		return fd;
	log_line(LOG_WARN, "%s is not the program's, and is not read", m->name);
	close(fd);
	return -1;
}

bool perf_map_read(struct perf_map *m, struct collector *c, bool more)
{
	size_t before = m->parsed;
	struct stat st;
	auto_close int fd = open_map(m, c, &st);

	if (fd < 0)
		return more && m->count;
	/* Another file, or the same one begun again. */
	if (st.st_dev != m->device || st.st_ino != m->inode || (size_t)st.st_size < m->text.size) {
		forget_lines(m);
		before = SIZE_MAX;
	}
	m->device = st.st_dev;
	m->inode = st.st_ino;
	if (lseek(fd, (off_t)m->text.size, SEEK_SET) >= 0)
		read_to_end(fd, &m->text, PERF_MAP_MAX - 1);
	perf_map_parse(m);
	return more || m->parsed != before;
}

static const char *hexadecimal(const char *p, const char *end, uint64_t *ret_value)
{
	const char *start = p;

	*ret_value = 0;
	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		start = p += 2;
	for (; p < end && p - start < 16; p++) {
		unsigned low = (unsigned char)*p | 32;

		if (*p >= '0' && *p <= '9')
			*ret_value = *ret_value << 4 | (unsigned)(*p - '0');
		else if (low >= 'a' && low <= 'f')
			*ret_value = *ret_value << 4 | (low - 'a' + 10);
		else
			break;
	}
	return p > start && p < end && *p == ' ' ? p + 1 : NULL;
}

static void add_line(struct perf_map *m, const char *line, const char *end)
{
	uint64_t start, size;
	const char *p = hexadecimal(line, end, &start);

	if (p)
		p = hexadecimal(p, end, &size);
	if (!p || p == end || !size || start + size < start)
		return;
	*xpush(m->entries, m->count, m->room) =
		(struct perf_map_entry){ start, start + size, (uint32_t)(p - m->text.data),
					 (uint32_t)(end - p) };
}

void perf_map_parse(struct perf_map *m)
{
	const char *line = m->text.data + m->parsed, *end = m->text.data + m->text.size, *next;

	for (; line < end && (next = memchr(line, '\n', (size_t)(end - line))); line = next + 1)
		add_line(m, line, next);
	m->parsed = m->text.size ? (size_t)(line - m->text.data) : 0;
}

ORDER(by_address, struct perf_map_wanted, RISING(address))

/* From the newest line to the oldest: the first that has an address is the one. */
void perf_map_find(const struct perf_map *m, struct perf_map_wanted *wanted, size_t count)
{
	SORT(wanted, count, by_address);
	for (size_t i = m->count; i-- > 0;) {
		const struct perf_map_entry *e = &m->entries[i];
		size_t low = FIRST_WHERE(k, count, wanted[k].address >= e->start);

		for (; low < count && wanted[low].address < e->end; low++) {
			if (wanted[low].name)
				continue;
			wanted[low].name = m->text.data + e->name;
			wanted[low].name_size = e->name_size;
		}
	}
}

/* The digits before `end`, with a colon in front of them, which is returned; else NULL. */
static char *number_before(char *text, char *end, uint32_t *ret_number)
{
	char *p = end;

	while (p > text && p[-1] >= '0' && p[-1] <= '9')
		p--;
	if (p == end || end - p > 9 || p == text || p[-1] != ':')
		return NULL;
	*ret_number = (uint32_t)strtoul(p, NULL, 10);
	return p - 1;
}

/* "KIND:*function file:line:column", the star being how far it is optimised. */
static void split_v8(struct perf_map_name *name)
{
	static const char *const kinds[] = { "JS:", "LazyCompile:", "Function:", "Eval:",
					     "Script:" };
	char *p = NULL, *file, *end, text[sizeof(name->raw)];
	uint32_t line, column;

	memcpy(text, name->raw, sizeof(text));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !p; i++)
		if (strncmp(text, kinds[i], strlen(kinds[i])) == 0)
			p = text + strlen(kinds[i]);
	if (!p)
		return;
	p += strspn(p, "~^+*'");
	end = number_before(p, p + strlen(p), &column);
	end = end ? number_before(p, end, &line) : NULL;
	file = strchr(p, ' ');
	if (!end || !file || end <= file + 1)
		return;
	*file++ = *end = 0;
	memcpy(name->function, *p ? p : "(anonymous)", strlen(*p ? p : "(anonymous)") + 1);
	memcpy(name->file, file, strlen(file) + 1);
	name->line = line;
}

void perf_map_name(const char *text, size_t size, struct perf_map_name *ret)
{
	size_t length = size < sizeof(ret->raw) ? size : sizeof(ret->raw) - 1;

	memcpy(ret->raw, text, length);
	ret->raw[length] = 0;
	memcpy(ret->function, ret->raw, length + 1);
	ret->file[0] = 0;
	ret->line = 0;
	split_v8(ret);
}
