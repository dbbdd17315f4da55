/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a dump is given so that it can be read elsewhere.  See embed.h. */
#include "agent/embed.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "agent/jemalloc.h"

/* Paths go to the end of a line: what would end it is shown otherwise. */
static void add_path(struct text *out, const char *path)
{
	for (; *path; path++)
		text_char(out, (unsigned char)*path < ' ' ? '?' : *path);
}

static void add_program(struct text *out)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = 0;
	add_path(out, path);
}

static void add_build_ids(struct text *dump)
{
	struct objects list;

	objects_list(&list);
	for (size_t i = 0; i < list.count; i++) {
		const struct object *o = &list.objects[i];

		if (!o->code_start)
			continue;
		text_printf(dump, "# build-id %s %llx %llx ", *o->build_id ? o->build_id : "-",
			    (unsigned long long)o->start, (unsigned long long)o->bias);
		if (o->main)
			add_program(dump);
		else
			add_path(dump, o->path);
		text_char(dump, '\n');
	}
	objects_release(&list);
}

void embed_build_ids(struct text *dump)
{
	static const char maps[] = "\nMAPPED_LIBRARIES:\n";

	if (dump->size && dump->data[dump->size - 1] == '\n' &&
	    memmem(dump->data, dump->size, maps, sizeof(maps) - 1))
		add_build_ids(dump);
}

/* Lines as texts of JSON; bytes that are no ASCII are left as they are. */
static void add_lines(struct text *json, const struct text *lines)
{
	bool inside = false;

	for (size_t i = 0; i < lines->size; i++) {
		char c = lines->data[i];

		if (c == '\n') {
			text_str(json, inside ? "\"" : "");
			inside = false;
			continue;
		}
		if (!inside)
			text_str(json, json->data[json->size - 1] == '[' ? "\"" : ",\"");
		inside = true;
		if (c == '"' || c == '\\')
			text_char(json, '\\');
		text_char(json, (unsigned char)c < ' ' ? '?' : c);
	}
	if (inside)
		text_char(json, '"');
}

void embed_maps(struct text *json)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct text lines = { 0 };

	while (fd >= 0 && text_reserve(&lines, 65536)) {
		ssize_t n = read(fd, lines.data + lines.size, 65536);

		if (n <= 0)
			break;
		lines.size += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	add_build_ids(&lines);
	while (json->size && (json->data[json->size - 1] == '\n' || !json->data[json->size - 1]))
		json->size--;
	if (json->size > 2 && json->data[json->size - 1] == '}' && !lines.failed) {
		json->size--;
		text_str(json, ",\"mapped_libraries\":[");
		if (!json->failed)
			add_lines(json, &lines);
		text_str(json, "]}\n");
	}
	text_release(&lines);
}

static uint64_t hexadecimal(const char **p)
{
	uint64_t value = 0;

	for (;; ++*p) {
		unsigned c = (unsigned char)**p, letter = (c | 32) - 'a';

		if (c - '0' < 10)
			value = value << 4 | (c - '0');
		else if (letter < 6)
			value = value << 4 | (letter + 10);
		else
			return value;
	}
}

/* The addresses of "@ 0x1 0x2 …" up to the line's end.  All but the first are behind a call, and
 * stand for the byte before: so jeprof looks them up. */
static void take_stack(const char *p, struct text *out)
{
	for (bool first = true; *p == ' '; first = false) {
		struct object_name n = { 0 };

		p++;
		if (p[0] != '0' || p[1] != 'x')
			return;
		p += 2;
		n.address = hexadecimal(&p);
		n.address -= n.address && !first;
		text_add(out, &n, sizeof(n));
	}
}

static size_t take_stacks(const struct text *dump, struct text *out)
{
	const char *p = dump->data;
	struct object_name *list;
	size_t count = 0, n;

	for (; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (*p == '@')
			take_stack(p + 1, out);
	}
	list = (struct object_name *)out->data;
	n = out->failed ? 0 : out->size / sizeof(*list);
	if (n)
		objects_sort(list, n);
	for (size_t i = 0; i < n; i++)
		if (!count || list[i].address != list[count - 1].address)
			list[count++] = list[i];
	return count;
}

const char *embed_name(const struct object_name *n, const struct text *names)
{
	if (n->name)
		return names->data + n->name;
	return *jemalloc.file && n->address >= jemalloc.start && n->address < jemalloc.end
		       ? "malloc"
		       : NULL;
}

void embed_names(struct text *dump)
{
	struct text addresses = { 0 }, names = { 0 }, out = { 0 };
	struct object_name *list;
	struct objects objects;
	size_t count;

	text_char(dump, 0); /* an end for who reads it */
	if (dump->failed)
		return;
	dump->size--;
	count = take_stacks(dump, &addresses);
	list = (struct object_name *)addresses.data;
	if (count) {
		objects_list(&objects);
		objects_name(&objects, list, count, &names);
		objects_release(&objects);
	}
	text_str(&out, "--- symbol\nbinary=");
	add_program(&out);
	text_char(&out, '\n');
	for (size_t i = 0; i < count; i++) {
		const char *name = embed_name(&list[i], &names);

		if (name)
			text_printf(&out, "0x%016llx %s\n", (unsigned long long)list[i].address,
				    name);
	}
	text_str(&out, "---\n--- heap\n");
	text_add(&out, dump->data, dump->size);
	text_release(&addresses);
	text_release(&names);
	text_release(dump);
	*dump = out;
}
