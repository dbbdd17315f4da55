/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding allocators.  See allocator.h. */
#include "replay/allocator.h"

#include <errno.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/xalloc.h"
#include "wire/arch.h"

/* Before these, the folders of LD_LIBRARY_PATH. */
#define FOLDERS                                                                                    \
	"/usr/local/lib:/usr/local/lib/" ARCH_TRIPLET ":/usr/local/lib64:/usr/lib/" ARCH_TRIPLET   \
	":/lib/" ARCH_TRIPLET ":/usr/lib64:/lib64:/usr/lib:/lib"

/* The plainest name first; Debian has tcmalloc without its profiler as tcmalloc_minimal. */
static const char *const patterns[] = { "lib%s.so",	      "lib%s.so.*", "lib%s_minimal.so",
					"lib%s_minimal.so.*", "%s",	    NULL };

static char *look_in(const char *folder, size_t length, const char *name)
{
	for (const char *const *p = patterns; *p; p++) {
		struct buf pattern = { 0 };
		char *found = NULL;
		glob_t g;

		buf_add(&pattern, folder, length);
		buf_char(&pattern, '/');
		for (const char *c = *p; *c; c++)
			if (c[0] == '%' && c[1] == 's')
				buf_text(&pattern, name), c++;
			else
				buf_char(&pattern, *c);
		if (!glob(pattern.data, 0, NULL, &g)) {
			found = realpath(g.gl_pathv[0], NULL);
			globfree(&g);
		}
		buf_release(&pattern);
		if (found)
			return found;
	}
	return NULL;
}

static char *look_along(const char *folders, const char *name)
{
	while (folders && *folders) {
		size_t length = strcspn(folders, ":");
		char *found = length ? look_in(folders, length, name) : NULL;

		if (found)
			return found;
		folders += length + (folders[length] == ':');
	}
	return NULL;
}

static int find_library(struct allocator *a, const char *word, struct err *err)
{
	if (!strcmp(word, "glibc") || !strcmp(word, "libc"))
		return 0;
	if (strchr(word, '/')) {
		a->library = realpath(word, NULL);
		if (!a->library)
			return err_set(err, -errno, "%s: %s", word, strerror(errno));
	} else if (!word[strcspn(word, "*?[\\")]) {
		a->library = look_along(getenv("LD_LIBRARY_PATH"), word);
		if (!a->library)
			a->library = look_along(FOLDERS, word);
	}
	if (!a->library)
		return err_set(err, -ENOENT,
			       "there is no library of '%s' in the usual folders; give its path",
			       word);
	if (a->library[strcspn(a->library, " :")])
		return err_set(err, -EINVAL, "%s: a path with blanks or colons cannot be preloaded",
			       a->library);
	return access(a->library, R_OK)
		       ? err_set(err, -errno, "%s: %s", a->library, strerror(errno))
		       : 0;
}

int allocator_parse(struct allocator *a, const char *text, struct err *err)
{
	memset(a, 0, sizeof(*a));
	a->text = xstrdup(text);
	for (const char *p = text;;) {
		size_t length;
		auto_free char *word = NULL;

		p += strspn(p, " ");
		length = strcspn(p, " ");
		word = xmemdup0(p, length);
		p += length;
		if (!length)
			return err_set(err, -EINVAL, "'%s': which allocator?", text);
		if (!strchr(word, '=') || strchr(word, '/') == word) {
			if (p[strspn(p, " ")])
				return err_set(err, -EINVAL,
					       "'%s': settings come before the allocator", text);
			return find_library(a, word, err);
		}
		if (!strncmp(word, "LD_PRELOAD=", 11))
			return err_set(err, -EINVAL, "'%s': give the library itself", text);
		*xpush(a->settings, a->setting_count, a->setting_room) = xstrdup(word);
	}
}

void allocator_release(struct allocator *a)
{
	for (size_t i = 0; i < a->setting_count; i++)
		free(a->settings[i]);
	free(a->settings);
	free(a->library);
	free(a->text);
	memset(a, 0, sizeof(*a));
}
