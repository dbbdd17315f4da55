/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a process became.  See successor.h.
 *
 * A recording names the one before it by its id; so the heads of the folder's recordings are read,
 * and those of the same process are followed from this one on. */
#include "model/successor.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "model/head.h"

#define FILES_MAX 1000 /* of a folder that are looked at: some 50 us each */

#define ID_BYTES sizeof(((struct format_header *)NULL)->id)

struct program {
	struct successor is;
	uint8_t id[ID_BYTES];
	char *parent; /* the id of the recording before it, as INFO has it */
};

struct programs {
	struct program *rows;
	size_t count, room;
};

/* The file of an open recording, by the name that it has now. */
static bool path_of(const struct model *m, char path[PATH_MAX])
{
	char descriptor[40];
	ssize_t n;

	if (m->reader.fd < 0)
		return false;
	snprintf(descriptor, sizeof(descriptor), "/proc/self/fd/%d", m->reader.fd);
	n = readlink(descriptor, path, PATH_MAX - 1);
	if (n <= 0 || path[0] != '/')
		return false;
	path[n] = 0;
	return true;
}

static void add_program(struct programs *to, const char *path, uint64_t pid)
{
	struct model head;
	const char *origin, *parent, *executable;

	if (!head_read(&head, path))
		return;
	origin = model_info(&head, "origin");
	parent = model_info(&head, "parent_id");
	executable = model_info(&head, "executable");
	if (origin && parent && executable && !strcmp(origin, "exec") &&
	    model_info_number(&head, "pid", 0) == pid) {
		struct program *p = xpush(to->rows, to->count, to->room);

		*p = (struct program){ { xstrdup(path), xstrdup(executable) },
				       .parent = xstrdup(parent) };
		memcpy(p->id, head.reader.header.id, ID_BYTES);
	}
	head_release(&head);
}

static void read_folder(struct programs *to, const char *path, uint64_t pid)
{
	DIR *dir = opendir(*path ? path : "/");
	struct dirent *d;

	for (unsigned n = 0; dir && n < FILES_MAX && (d = readdir(dir)); n++) {
		auto_free char *file = xasprintf("%s/%s", path, d->d_name);

		if (d->d_type == DT_REG || d->d_type == DT_UNKNOWN)
			add_program(to, file, pid);
	}
	if (dir)
		closedir(dir);
}

static const struct program *after(const struct programs *all, const uint8_t id[ID_BYTES])
{
	char text[2 * ID_BYTES + 1];

	for (size_t i = 0; i < ID_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	for (size_t i = 0; i < all->count; i++)
		if (!strcmp(all->rows[i].parent, text))
			return &all->rows[i];
	return NULL;
}

bool successor_find(const struct model *m, struct successor *ret)
{
	const char *reason = model_info(m, "end_reason");
	struct programs all = { 0 };
	const struct program *p, *last = NULL;
	const uint8_t *id = m->reader.header.id;
	char path[PATH_MAX];

	if (!reason || strcmp(reason, "exec") != 0 || !path_of(m, path))
		return false;
	*strrchr(path, '/') = 0;
	read_folder(&all, path, model_info_number(m, "pid", 0));
	/* Ids that a file makes up may lead in a circle. */
	for (size_t steps = 0; steps < all.count && (p = after(&all, id)); steps++) {
		last = p;
		id = p->id;
	}
	if (last)
		*ret = (struct successor){ xstrdup(last->is.path), xstrdup(last->is.executable) };
	for (size_t i = 0; i < all.count; i++) {
		successor_release(&all.rows[i].is);
		free(all.rows[i].parent);
	}
	free(all.rows);
	return last != NULL;
}

void successor_release(struct successor *s)
{
	free(s->path);
	free(s->executable);
}
