/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names that are told, and those that are not.  See anonymize.h. */
#include "rewrite/anonymize.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/xalloc.h"
#include "wire/event.h"

#define PROGRAM "program"

enum rule {
	KEEP,	  /* says nothing about anybody */
	BASENAME, /* partial: without its folder; full: left out */
	NAME,	  /* partial: without its folder; full: "program" */
	COMMAND,  /* the same, as a command line */
};

/* Keys that are not here are left out. */
static const struct {
	const char *key;
	enum rule rule;
} rules[] = {
	{ "version", KEEP },
	{ "pid", KEEP },
	{ "ppid", KEEP },
	{ "executable", NAME },
	{ "cmdline", COMMAND },
	{ "title", NAME },
	{ "peak_rss", KEEP },
	{ "arch", KEEP },
	{ "page_size", KEEP },
	{ "pointer_size", KEEP },
	{ "allocator", BASENAME },
	{ INFO_LIBC_MAPS, KEEP },
	{ "clock", KEEP },
	{ "start_stamp", KEEP },
	{ "start_monotonic_ns", KEEP },
	{ "start_realtime_ns", KEEP },
	{ "end_reason", KEEP },
	{ "exit_status", KEEP },
	{ "exit_signal", KEEP },
	{ "exec_path", BASENAME },
	{ "origin", KEEP },
	{ "parent_pid", KEEP },
	{ "parent_id", KEEP },
	{ "forked_at", KEEP },
	{ "inherited_blocks", KEEP },
	{ "inherited_bytes", KEEP },
	{ "removed_below_ns", KEEP },
	{ "loss_kind", KEEP },
	{ "loss_offset", KEEP },
	{ "loss_reason", KEEP },
};

void anonymizer_init(struct anonymizer *a, enum anonymity how, const char *executable)
{
	memset(a, 0, sizeof(*a));
	a->how = how;
	a->executable = executable ? executable : "";
	strings_init(&a->libraries);
	strings_init(&a->files);
	strings_init(&a->functions);
}

void anonymizer_release(struct anonymizer *a)
{
	strings_release(&a->libraries);
	strings_release(&a->files);
	strings_release(&a->functions);
}

static void add_basename(struct buf *out, const char *path, size_t size)
{
	const char *slash = memrchr(path, '/', size);
	size_t skip = slash ? (size_t)(slash - path) + 1 : 0;

	buf_add(out, path + skip, size - skip);
}

static bool add_by_rule(const struct anonymizer *a, enum rule rule, const void *value, size_t size,
			struct buf *out)
{
	switch (rule) {
	case KEEP:
		buf_add(out, value, size);
		return true;
	case BASENAME:
		if (a->how == ANONYMIZE_FULL)
			return false;
		add_basename(out, value, size);
		return true;
	case NAME:
	case COMMAND:
		if (a->how == ANONYMIZE_FULL)
			buf_text(out, PROGRAM);
		else
			add_basename(out, a->executable, strlen(a->executable));
		if (rule == COMMAND)
			buf_char(out, 0);
		return true;
	}
	return false;
}

bool anonymize_info(struct anonymizer *a, const char *key, size_t key_size, const void *value,
		    size_t size, struct buf *out)
{
	buf_clear(out);
	if (a->how == ANONYMIZE_NONE)
		return add_by_rule(a, KEEP, value, size, out);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (strlen(rules[i].key) == key_size && !memcmp(rules[i].key, key, key_size))
			return add_by_rule(a, rules[i].rule, value, size, out);
	return false;
}

/* Ours are small letters, digits and underlines. */
bool anonymize_counter(const struct anonymizer *a, const char *name, size_t size)
{
	if (a->how == ANONYMIZE_NONE)
		return true;
	for (size_t i = 0; i < size; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_", name[i]) || !name[i])
			return false;
	return size < 40;
}

static void add_number(struct buf *out, const char *what, struct strings *s, const char *text)
{
	buf_printf(out, "%s_%" PRIu32, what, strings_add(s, text));
}

void anonymize_module(struct anonymizer *a, const char *path, size_t size, struct buf *out)
{
	auto_free char *text = xmemdup0(path, size);

	buf_clear(out);
	if (a->how == ANONYMIZE_NONE)
		buf_add(out, path, size);
	else if (!*text)
		return; /* the executable's */
	else if (a->how == ANONYMIZE_PARTIAL)
		add_basename(out, text, strlen(text));
	else if (!strcmp(text, a->executable))
		buf_text(out, PROGRAM);
	else
		add_number(out, "lib", &a->libraries, text);
}

void anonymize_region(const struct anonymizer *a, const char *name, size_t size, struct buf *out)
{
	static const char *const kernels[] = { "[heap]", "[stack]",    "[vdso]",
					       "[vvar]", "[vsyscall]", "[anon:mmap]" };

	buf_clear(out);
	if (a->how == ANONYMIZE_NONE)
		buf_add(out, name, size);
	for (size_t i = 0; a->how != ANONYMIZE_NONE && i < sizeof(kernels) / sizeof(*kernels); i++)
		if (strlen(kernels[i]) == size && !memcmp(kernels[i], name, size))
			buf_add(out, name, size);
}

void anonymize_function(struct anonymizer *a, const char *name, struct buf *out)
{
	buf_clear(out);
	if (a->how == ANONYMIZE_FULL)
		add_number(out, "fn", &a->functions, name);
	else
		buf_text(out, name);
}

void anonymize_file(struct anonymizer *a, const char *path, struct buf *out)
{
	buf_clear(out);
	if (a->how == ANONYMIZE_FULL)
		add_number(out, "src", &a->files, path);
	else if (a->how == ANONYMIZE_PARTIAL)
		add_basename(out, path, strlen(path));
	else
		buf_text(out, path);
}

void anonymize_events(const struct anonymizer *a, struct event *events, uint32_t count)
{
	if (a->how != ANONYMIZE_FULL)
		return;
	for (uint32_t i = 0; i < count; i++)
		if (event_op(&events[i]) == OP_THREAD || event_op(&events[i]) == OP_MARKER)
			events[i].word2 = events[i].word3 = 0;
}
