/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Build folders.  See build_folders.h. */
#include "symbols/build_folders.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"

#define UNITS_MAX 4096	/* of one file that are looked at: their folders repeat */
#define FOLDERS_MAX 256 /* of a recording */

char *build_folder_plain(const char *path)
{
	char *out, *to;

	if (*path != '/')
		return NULL;
	to = out = xmalloc(strlen(path) + 2);
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && !memcmp(path, "..", 2)) {
			while (to > out && *--to != '/')
				;
		} else if (n && !(n == 1 && *path == '.')) {
			*to++ = '/';
			memcpy(to, path, n);
			to += n;
		}
		path += n;
		path += strspn(path, "/");
	}
	if (to == out)
		*to++ = '/';
	*to = 0;
	return out;
}

/* A sensible root is a folder of this user's own: not the whole disk, not everything of a user, and
 * no place where a system keeps its secrets. */
static bool is_sensible(const char *folder)
{
	static const char *const systems[] = { "/boot", "/dev", "/etc", "/proc", "/run", "/sys" };
	const char *home = getenv("HOME");
	size_t n = strlen(folder);
	struct stat st;

	if (!strchr(folder + 1, '/') || strstr(folder, "/."))
		return false;
	for (size_t i = 0; i < sizeof(systems) / sizeof(*systems); i++)
		if (!strncmp(folder, systems[i], strlen(systems[i])) &&
		    folder[strlen(systems[i])] == '/')
			return false;
	if (home && !strncmp(home, folder, n) && (!home[n] || home[n] == '/'))
		return false;
	return !lstat(folder, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & S_IWOTH);
}

static void add_folder(struct build_folders *b, const char *path)
{
	auto_free char *folder = build_folder_plain(path);

	if (!folder || b->count >= FOLDERS_MAX)
		return;
	for (size_t i = 0; i < b->count; i++)
		if (!strcmp(b->rows[i], folder))
			return;
	if (!is_sensible(folder))
		return;
	*xpush(b->rows, b->count, b->room) = xstrdup(folder);
}

static const char *text_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr(die, name, &attribute));
}

/* The folder itself; where its sources are beside it ("../src/main.c"), what both are in. */
static void add_unit(struct build_folders *b, Dwarf_Die *unit)
{
	const char *folder = text_of(unit, DW_AT_comp_dir), *name = text_of(unit, DW_AT_name);
	auto_free char *up = NULL;
	size_t n = 0;

	if (!folder || *folder != '/')
		return;
	add_folder(b, folder);
	while (name && !strncmp(name + n, "../", 3))
		n += 3;
	if (!n)
		return;
	up = xasprintf("%s/%.*s", folder, (int)n, name);
	add_folder(b, up);
}

/* Could somebody else have written it? */
static bool is_trusted(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && (!st.st_uid || st.st_uid == geteuid()) &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static void add_file(struct build_folders *b, const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	Dwarf_Off at = 0, next;
	size_t head;
	Dwarf *dwarf;

	if (fd < 0 || !is_trusted(fd))
		return;
	dwarf = dwarf_begin(fd, DWARF_C_READ);
	for (unsigned i = 0; dwarf && i < UNITS_MAX; i++, at = next) {
		Dwarf_Die unit;

		if (dwarf_nextcu(dwarf, at, &next, &head, NULL, NULL, NULL))
			break;
		if (dwarf_offdie(dwarf, at + head, &unit))
			add_unit(b, &unit);
	}
	if (dwarf)
		dwarf_end(dwarf);
}

void build_folders_add(struct build_folders *b, const struct symbols_found *found)
{
	if (found->binary && !found->embedded)
		add_file(b, found->binary);
	if (found->debug && !found->server)
		add_file(b, found->debug);
}

void build_folders_release(struct build_folders *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->rows[i]);
	free(b->rows);
	*b = (struct build_folders){ 0 };
}
