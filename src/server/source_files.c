/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Source files.  See source_files.h. */
#include "server/source_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "model/locations.h"

void source_roots_init(struct source_roots *r, const struct server_options *o,
		       const struct snapshot *s)
{
	*r = (struct source_roots){ .options = o };
	if (s->uploaded) {
		r->never = "it is named by a recording that was uploaded: open the recording where "
			   "the source is";
		return;
	}
	/* Others may ask then: only what was allowed by name. */
	if (o->open_to_all)
		return;
	for (size_t i = 1; i < s->model->tables.module_count; i++) {
		const struct module *m = &s->model->tables.modules[i];

		if (m->known && m->build_id_size && *m->path == '/')
			build_folders_add(&r->built, locations_found(s->locations, (uint32_t)i));
	}
}

void source_roots_release(struct source_roots *r)
{
	build_folders_release(&r->built);
}

/* Each part in turn, where the kernel cannot promise it: no link at all. */
static int open_by_parts(int folder, const char *path)
{
	auto_free char *copy = xstrdup(path);
	char *rest = copy, *part;
	int at = dup(folder);

	while (at >= 0 && (part = strsep(&rest, "/"))) {
		int next = strcmp(part, "..") ? openat(at, part, O_PATH | O_NOFOLLOW | O_CLOEXEC)
					      : (errno = EXDEV, -1);
		int error = errno;

		close(at);
		errno = error;
		at = next;
	}
	return at < 0 ? -errno : at;
}

static int open_beneath(const char *root, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	auto_close int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd;

	if (folder < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return fd < 0 ? -errno : fd;
	return open_by_parts(folder, path);
}

/* What is behind the root, or NULL. */
static const char *below(const char *root, const char *path)
{
	size_t n = strlen(root);

	while (n > 1 && root[n - 1] == '/')
		n--;
	if (n == 1)
		return path + 1;
	return !strncmp(path, root, n) && path[n] == '/' ? path + n + 1 : NULL;
}

static int open_in(const char *root, bool hidden, const char *path, struct stat *ret_st)
{
	const char *rest = below(root, path);
	auto_close int handle = -1;

	/* What a build put beside the sources under a hidden name is no source. */
	if (!rest || (!hidden && (*rest == '.' || strstr(rest, "/."))))
		return -EACCES;
	handle = open_beneath(root, rest);
	return handle < 0 ? handle : source_open_plain(handle, ret_st);
}

int source_roots_open(const struct source_roots *r, const char *path, struct stat *ret_st,
		      const char **ret_why)
{
	auto_free char *plain = build_folder_plain(path);
	int found = -EACCES;

	*ret_why = r->never;
	if (r->never)
		return -EACCES;
	if (!plain)
		return -ENOENT;
	for (size_t i = 0; i < r->options->source_root_count && found == -EACCES; i++)
		found = open_in(r->options->source_roots[i], true, plain, ret_st);
	for (size_t i = 0; i < r->built.count && found == -EACCES; i++)
		found = open_in(r->built.rows[i], false, plain, ret_st);
	if (found < 0 && found != -ENOENT)
		*ret_why = source_why_not(found);
	return found;
}
