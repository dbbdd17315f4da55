/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The collector's small parts: names with placeholders, memory maps, ELF headers, programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/order.h"
#include "collector/elf.h"
#include "collector/embed.h"
#include "collector/maps.h"
#include "collector/program.h"
#include "recording/file_name.h"
#include "recording/writer.h"
#include "unit.h"

static void test_pattern(void **state)
{
	char out[200], time_text[32];

	assert_true(file_name_expand(out, sizeof(out), "a_%e_%p_%n_%%_%x_%", 42, "prog", 7));
	assert_string_equal(out, "a_prog_42_7_%_%x_%");
	snprintf(time_text, sizeof(time_text), "%lld", (long long)time(NULL));
	assert_true(file_name_expand(out, sizeof(out), "%t", 42, "prog", 7));
	assert_int_equal(strlen(out), strlen(time_text));
	assert_true(file_name_expand(out, sizeof(out), "%%n%%e", 1, "x", 0));
	assert_string_equal(out, "%n%e");
	assert_false(file_name_expand(out, 5, "%e", 1, "longer", 0));
	assert_true(file_name_expand(out, 7, "%e", 1, "longer", 0));

	assert_true(file_name_has("x%n", 'n'));
	assert_false(file_name_has("x%%n", 'n'));
	assert_true(file_name_has("x%%%n", 'n'));
	assert_false(file_name_has("x%", 'n'));
}

/* %n counts up to the first name that is free; without it the file is replaced. */
static void test_counting_output(void **state)
{
	char directory[] = "/tmp/memoir-test-XXXXXX", pattern[100], expected[120];
	struct recording r[3] = { 0 };
	struct stat st;

	assert_non_null(mkdtemp(directory));
	snprintf(pattern, sizeof(pattern), "%s/o%%n.dat", directory);
	for (int i = 0; i < 3; i++) {
		snprintf(expected, sizeof(expected), "%s/o%d.dat", directory, i);
		assert_int_equal(recording_open(&r[i], pattern, 1, "x", 65536), 0);
		assert_string_equal(r[i].path, expected);
		assert_int_equal(stat(expected, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
	}
	for (int i = 0; i < 3; i++) {
		assert_true(recording_finish(&r[i]));
		recording_remove(&r[i]);
		assert_int_equal(stat(r[i].path, &st), -1);
	}
	/* A device is left where it is. */
	assert_int_equal(recording_open(&r[0], "/dev/null", 1, "x", 65536), 0);
	recording_release(&r[0]);
	recording_remove(&r[0]);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_int_equal(rmdir(directory), 0);
}

static void test_maps(void **state)
{
	struct maps m = { 0 };
	const struct mapping *found;
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(n > 0);
	self[n] = 0;
	assert_int_equal(maps_read(&m, getpid()), 0);
	found = maps_find(&m, (uint64_t)(uintptr_t)&test_maps);
	assert_non_null(found);
	assert_string_equal(found->path, self);
	assert_true(found->executable && found->inode && !found->deleted);
	assert_null(maps_find(&m, 0));
	assert_null(maps_find(&m, UINT64_MAX));
	for (size_t i = 1; i < m.count; i++)
		assert_true(m.list[i].start >= m.list[i - 1].end);
	/* A process that is not there leaves what was read. */
	n = (ssize_t)m.count;
	assert_true(maps_read(&m, INT_MAX - 1) < 0);
	assert_int_equal(m.count, n);
	maps_release(&m);
}

static size_t read_self(uint8_t *out, size_t size)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	ssize_t n = read(fd, out, size);

	assert_true(n > 0);
	close(fd);
	return (size_t)n;
}

static void test_elf(void **state)
{
	static uint8_t bytes[65536];
	size_t size = read_self(bytes, sizeof(bytes)), id_size = 0;
	struct elf_notes notes;
	const uint8_t *id = NULL;

	assert_int_equal(elf_kind_of(bytes, size), ELF_DYNAMIC);
	for (unsigned i = 0; !id && elf_notes(bytes, size, i, &notes); i++)
		if (notes.offset + notes.size <= size)
			id = elf_build_id(bytes + notes.offset, notes.size, &id_size);
	if (id)
		assert_true(id_size >= 8 && id_size <= 32);

	/* Cut anywhere, and with any byte of the header turned: an answer, no crash. */
	for (size_t cut = 0; cut < 400; cut++)
		elf_kind_of(bytes, cut);
	for (size_t i = 0; i < 64; i++) {
		uint8_t was = bytes[i];

		for (unsigned v = 0; v < 256; v++) {
			bytes[i] = (uint8_t)v;
			elf_kind_of(bytes, size);
			elf_notes(bytes, size, 0, &notes);
		}
		bytes[i] = was;
	}
	assert_int_equal(elf_kind_of((const uint8_t *)"#!/bin/sh\n", 10), ELF_NONE);
	bytes[4] = 1; /* 32-bit */
	assert_int_equal(elf_kind_of(bytes, size), ELF_FOREIGN);
}

static void test_build_id_note(void **state)
{
	static const uint8_t note[] = { 4, 0, 0,   0,	4,   0, 0, 0, 3, 0,
					0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 4 };
	uint8_t lying[sizeof(note)];
	size_t size;

	assert_ptr_equal(elf_build_id(note, sizeof(note), &size), note + 16);
	assert_int_equal(size, 4);
	for (size_t cut = 0; cut < sizeof(note); cut++)
		assert_null(elf_build_id(note, cut, &size));
	memcpy(lying, note, sizeof(note));
	memset(lying + 4, 0xff, 4);
	assert_null(elf_build_id(lying, sizeof(lying), &size));
	memset(lying, 0xff, 4);
	assert_null(elf_build_id(lying, sizeof(lying), &size));
}

static void test_program_find(void **state)
{
	char directory[] = "/tmp/memoir-test-XXXXXX", path[200], file[100], search[100];
	char *before = strdup(getenv("PATH") ? getenv("PATH") : "");
	int fd;

	assert_non_null(mkdtemp(directory));
	snprintf(file, sizeof(file), "%s/prog", directory);
	snprintf(search, sizeof(search), "/proc/nonexistent:%s", directory);
	setenv("PATH", search, 1);
	assert_int_equal(program_find("prog", path, sizeof(path)), -ENOENT);
	fd = open(file, O_WRONLY | O_CREAT, 0600);
	close(fd);
	assert_int_equal(program_find("prog", path, sizeof(path)), -EACCES);
	assert_int_equal(program_find(file, path, sizeof(path)), -EACCES);
	chmod(file, 0700);
	assert_int_equal(program_find("prog", path, sizeof(path)), 0);
	assert_string_equal(path, file);
	assert_int_equal(program_find("./nothing", path, sizeof(path)), -ENOENT);
	assert_int_equal(program_find("", path, sizeof(path)), -ENOENT);
	assert_int_equal(program_find(directory, path, sizeof(path)), -EACCES);
	/* An empty part means here. */
	assert_int_equal(chdir(directory), 0);
	setenv("PATH", "/proc/nonexistent:", 1);
	assert_int_equal(program_find("prog", path, sizeof(path)), 0);
	assert_string_equal(path, "./prog");
	setenv("PATH", before, 1);
	free(before);
	unlink(file);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(directory), 0);
}

static void test_program_obstacle(void **state)
{
	char script[] = "/tmp/memoir-test-XXXXXX";
	int fd = mkstemp(script);

	assert_null(program_obstacle("/proc/self/exe"));
	assert_null(program_obstacle("/proc/nonexistent"));
	assert_int_equal(dprintf(fd, "#! /proc/nonexistent/shell -x\n"), 30);
	assert_null(program_obstacle(script));
	close(fd);
	unlink(script);
}

/* A file with these bytes. */
static enum loadable look_at(const char *path, const void *bytes, size_t size,
			     struct loadable_look *ret)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);

	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	close(fd);
	program_look(path, ret);
	return ret->answer;
}

static void test_program_look(void **state)
{
	char path[] = "/tmp/memoir-test-XXXXXX", line[64];
	static uint8_t bytes[65536];
	size_t size = read_self(bytes, sizeof(bytes));
	struct loadable_look look;
	uint16_t *machine = (uint16_t *)(bytes + 18);

	close(mkstemp(path));
	program_look("/proc/self/exe", &look);
	assert_true(look.answer == LOADABLE_YES || look.answer == LOADABLE_SANITIZED);
	assert_int_equal(look.loader[0], '/');
	/* The loader itself, which runs what it is given. */
	program_look(look.loader, &look);
	assert_int_equal(look.answer, LOADABLE_YES);

	*machine = 183;
	assert_int_equal(look_at(path, bytes, size, &look), LOADABLE_OTHER_MACHINE);
	assert_string_equal(program_refusal(look.answer, look.machine), "is a program for AArch64");
	*machine = 40;
	bytes[4] = 1;
	assert_int_equal(look_at(path, bytes, size, &look), LOADABLE_OTHER_MACHINE);
	*machine = 3;
	assert_int_equal(look_at(path, bytes, size, &look), LOADABLE_32_BIT);
	*machine = 62;
	assert_int_equal(look_at(path, bytes, size, &look), LOADABLE_32_BIT);
	bytes[4] = 2;

	assert_int_equal(look_at(path, "echo\n", 5, &look), LOADABLE_UNKNOWN);
	assert_int_equal(look_at(path, "#!\n", 3, &look), LOADABLE_UNKNOWN);
	assert_int_equal(look_at(path, "", 0, &look), LOADABLE_UNKNOWN);
	assert_int_equal(look_at(path, "#! /proc/none\n", 14, &look), LOADABLE_NO_INTERPRETER);
	assert_string_equal(look.interpreter, "/proc/none");
	assert_int_equal(look_at(path, "#!/bin/sh -e\n", 13, &look), LOADABLE_YES);
	/* One that names itself. */
	snprintf(line, sizeof(line), "#!%s\n", path);
	assert_int_equal(look_at(path, line, strlen(line), &look), LOADABLE_UNKNOWN);

	/* Cut anywhere, and with any byte of the headers turned: an answer, no crash. */
	for (size_t cut = 0; cut < 900; cut += 7)
		look_at(path, bytes, cut, &look);
	for (size_t i = 16; i < 400; i++) {
		uint8_t was = bytes[i];

		bytes[i] = (uint8_t)~was;
		look_at(path, bytes, size, &look);
		bytes[i] = was;
	}
	unlink(path);
}

/* The first mapping of a library of this process. */
static struct mapping library_mapping(const struct maps *m, const char *name)
{
	for (size_t i = 0; i < m->count; i++)
		if (strstr(m->list[i].path, name) && !m->list[i].offset)
			return m->list[i];
	fail_msg("%s is not mapped", name);
	return (struct mapping){ 0 };
}

static size_t id_of_file(const char *path, uint8_t ret_id[BUILD_ID_MAX])
{
	static uint8_t head[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_notes notes;
	size_t size = 0;

	assert_true(read(fd, head, sizeof(head)) > 0);
	for (unsigned n = 0; !size && elf_notes(head, sizeof(head), n, &notes); n++) {
		uint8_t bytes[256];
		ssize_t got = pread(fd, bytes, sizeof(bytes), (off_t)notes.offset);
		const uint8_t *id =
			got > 0 ? elf_build_id(bytes, MIN((size_t)got, notes.size), &size) : NULL;

		if (id)
			memcpy(ret_id, id, size);
		else
			size = 0;
	}
	close(fd);
	return size;
}

/* The maps said that one library is there, and another one is when it is opened: the first is
 * embedded all the same, under its own id. */
static void test_library_in_anothers_place(void **state)
{
	struct collector *c = calloc(1, sizeof(*c));
	struct mapping mapped, other;
	uint8_t id[BUILD_ID_MAX];
	size_t id_size;

	setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
	c->control = calloc(1, sizeof(*c->control));
	c->control->options.write_binaries = BINARIES_TABLES;
	c->target = getpid();
	c->payload.room = 4u << 20;
	c->payload.data = calloc(c->payload.room, 1);
	assert_int_equal(recording_open(&c->recording, "/dev/null", 1, "x", c->payload.room), 0);
	assert_int_equal(maps_read(&c->maps, getpid()), 0);
	mapped = library_mapping(&c->maps, "/libc.so");
	other = library_mapping(&c->maps, "/libm.so");
	mapped.start = other.start;
	mapped.end = other.end;
	id_size = id_of_file(mapped.path, id);
	assert_true(id_size > 0);
	binaries_add(c, &mapped);
	binaries_add_module(c, mapped.path, id, id_size);
	binaries_finish(c);
	assert_int_equal(c->file_count, 1);
	assert_int_equal(c->files[0].state, FILE_DONE);
	assert_int_equal(c->files[0].build_id_size, id_size);
	assert_memory_equal(c->files[0].build_id, id, id_size);
	assert_true(c->files[0].offset > 10000);
	binaries_release(c);
	maps_release(&c->maps);
	recording_release(&c->recording);
	free(c->payload.data);
	free(c->control);
	free(c);
}

UNIT(collector_parts)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pattern),
		cmocka_unit_test(test_counting_output),
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_elf),
		cmocka_unit_test(test_build_id_note),
		cmocka_unit_test(test_program_find),
		cmocka_unit_test(test_program_obstacle),
		cmocka_unit_test(test_program_look),
		cmocka_unit_test(test_library_in_anothers_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
