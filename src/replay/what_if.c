/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Changes to an allocator.  See what_if.h. */
#include "replay/what_if.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "query/value.h"

#define ARENAS_MAX 4095 /* of jemalloc; glibc has no limit that matters */

static const char *file_of(const struct allocator *a)
{
	const char *slash = a->library ? strrchr(a->library, '/') : NULL;

	return slash ? slash + 1 : "";
}

bool what_if_is_jemalloc(const struct allocator *a)
{
	return strstr(file_of(a), "jemalloc");
}

bool what_if_has_decay(const struct allocator *a)
{
	return ANY(i, a->setting_count, strstr(a->settings[i], "_decay_ms:"));
}

/* Adds to a variable of the allocator's environment; what comes later counts. */
static void add_setting(struct allocator *a, const char *name, char between, const char *value)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < a->setting_count; i++) {
		char *old = a->settings[i];

		if (strncmp(old, name, length) != 0 || old[length] != '=')
			continue;
		a->settings[i] = xasprintf("%s%c%s", old, between, value);
		free(old);
		return;
	}
	*xpush(a->settings, a->setting_count, a->setting_room) = xasprintf("%s=%s", name, value);
}

static int set_arenas(struct allocator *a, const char *value, struct err *err)
{
	auto_free char *setting = NULL;
	struct value v;
	int error = value_parse(&v, ARG_COUNT, value, err);

	if (error)
		return error;
	if (!v.number || v.number > ARENAS_MAX)
		return err_set(err, -EINVAL, "arena-max is 1 to %d", ARENAS_MAX);
	if (what_if_is_jemalloc(a)) {
		setting = xasprintf("narenas:%" PRIu64, v.number);
		add_setting(a, "MALLOC_CONF", ',', setting);
	} else if (!a->library) {
		setting = xasprintf("glibc.malloc.arena_max=%" PRIu64, v.number);
		add_setting(a, "GLIBC_TUNABLES", ':', setting);
	} else {
		return err_set(err, -EINVAL, "arena-max is for glibc and jemalloc, not %s",
			       file_of(a));
	}
	value_release(&v);
	return 0;
}

static int set_decay(struct what_if *w, const char *value, struct err *err)
{
	struct value v;
	int error = value_parse(&v, ARG_DURATION, value, err);

	if (error)
		return error;
	w->decay_ns = v.number;
	value_release(&v);
	if (!what_if_is_jemalloc(&w->allocator))
		return err_set(err, -EINVAL,
			       "decay is jemalloc's: 'allocator=jemalloc,decay=%s' asks about it",
			       value);
	return 0;
}

void what_if_set_decay(struct allocator *a, uint64_t decay_ns, double faster)
{
	uint64_t ms = (uint64_t)((double)decay_ns / faster / 1e6 + 0.5);
	auto_free char *setting = NULL;

	/* Below a millisecond is at once, to jemalloc. */
	if (!ms && decay_ns)
		ms = 1;
	setting = xasprintf("dirty_decay_ms:%" PRIu64 ",muzzy_decay_ms:0", ms);
	add_setting(a, "MALLOC_CONF", ',', setting);
}

static void copy_allocator(struct allocator *a, const struct allocator *from)
{
	*a = (struct allocator){ .library = from->library ? xstrdup(from->library) : NULL };
	for (size_t i = 0; i < from->setting_count; i++)
		*xpush(a->settings, a->setting_count, a->setting_room) = xstrdup(from->settings[i]);
}

static int change(struct what_if *w, const char *word, struct err *err)
{
	const char *value = strchr(word, '=');
	size_t length = value ? (size_t)(value++ - word) : strlen(word);

	if (length == 4 && !value && !strncmp(word, "trim", 4)) {
		w->trim = TRIM_OFTEN;
		return 0;
	}
	if (value && length == 9 && !strncmp(word, "arena-max", 9))
		return set_arenas(&w->allocator, value, err);
	if (value && length == 5 && !strncmp(word, "decay", 5))
		return set_decay(w, value, err);
	if (value && length == 9 && !strncmp(word, "allocator", 9)) {
		allocator_release(&w->allocator);
		return allocator_parse(&w->allocator, value, err);
	}
	return err_set(err, -EINVAL,
		       "'%.60s' is not trim, arena-max=N, decay=TIME or allocator=LIB", word);
}

int what_if_parse(struct what_if *w, const char *text, const struct allocator *as_it_is,
		  struct err *err)
{
	auto_free char *words = xstrdup(text);
	int error = 0;

	*w = (struct what_if){ .decay_ns = DECAY_NONE };
	copy_allocator(&w->allocator, as_it_is);
	/* An allocator is chosen before it is changed, wherever it stands. */
	for (int pass = 0; pass < 2 && !error; pass++) {
		size_t length;

		for (char *at = words;; at += length + 1) {
			auto_free char *word = NULL;

			length = strcspn(at, ",");
			word = xmemdup0(at, length);
			if (!strncmp(word, "allocator=", 10) == !pass)
				error = change(w, word, err);
			if (error || !at[length])
				break;
		}
	}
	free(w->allocator.text);
	w->allocator.text = xstrdup(text);
	return error;
}

void what_if_release(struct what_if *w)
{
	allocator_release(&w->allocator);
}
