/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Folders of recordings.  See folder.h. */
#include "answer/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"

static bool is_recording(int folder, const char *name, struct format_header *ret_header)
{
	auto_close int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd >= 0 &&
	       read(fd, ret_header, sizeof(*ret_header)) == (ssize_t)sizeof(*ret_header) &&
	       !memcmp(ret_header->magic, FORMAT_MAGIC, sizeof(ret_header->magic));
}

struct folder_member *folder_add(struct folder *f)
{
	f->members = xgrow(f->members, f->count, &f->room, sizeof(*f->members));
	f->members[f->count] = (struct folder_member){ .err.offset = ERR_NO_OFFSET };
	return &f->members[f->count++];
}

struct folder *folder_read(const char *path, struct err *err)
{
	struct folder *f = xcalloc(1, sizeof(*f));
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	f->path = xstrdup(path);
	if (n < 0 || fd < 0) {
		err_set(err, -errno, "%s", strerror(errno));
		f = folder_free(f);
	}
	for (int i = 0; i < n; i++) {
		struct format_header header;

		if (f && is_recording(fd, names[i]->d_name, &header)) {
			struct folder_member *m = folder_add(f);

			m->name = xstrdup(names[i]->d_name);
			snapshot_id(m->id, header.id);
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return f;
}

struct folder *folder_free(struct folder *f)
{
	if (!f)
		return NULL;
	for (size_t i = 0; i < f->count; i++) {
		snapshot_drop(f->members[i].snapshot);
		free(f->members[i].name);
	}
	free(f->members);
	free(f->path);
	free(f);
	return NULL;
}

char *folder_path(const struct folder *f, size_t member)
{
	size_t n = strlen(f->path);

	return xasprintf("%s%s%s", f->path, n && f->path[n - 1] == '/' ? "" : "/",
			 f->members[member].name);
}

struct snapshot *folder_take(const struct folder *f, size_t member, struct err *err)
{
	const struct folder_member *m = &f->members[member];
	auto_free char *path = NULL;

	if (m->snapshot)
		return snapshot_hold(m->snapshot);
	if (!f->load) {
		*err = m->err;
		return NULL;
	}
	path = folder_path(f, member);
	return f->load(f, path, err);
}

static void release_folder(struct snapshot *s)
{
	s->folder = folder_free(s->folder);
}

struct snapshot *folder_snapshot(struct folder *f, const struct kind *kind)
{
	struct snapshot *s = snapshot_new();

	s->folder = f;
	s->kind = kind;
	s->release = release_folder;
	return s;
}
