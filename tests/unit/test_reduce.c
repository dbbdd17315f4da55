/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* collector/reduce.c: an ELF file's tables without the rest, whatever the file is; base/pieces.c:
 * what is not whole is not used. */
#include "base/buf_type.h"
#include "unit.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/pieces.h"
#include "base/xalloc.h"
#include "collector/reduce.h"

static uint8_t *program;
static size_t program_size;

static int read_program(void **state)
{
	FILE *f = fopen("/proc/self/exe", "rb");

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	program_size = (size_t)ftell(f);
	rewind(f);
	program = xmalloc(program_size);
	assert_int_equal(fread(program, 1, program_size, f), program_size);
	return fclose(f);
}

static int free_program(void **state)
{
	free(program);
	return 0;
}

/* The whole image, read in odd steps; NULL if there is none. */
static uint8_t *image_of(const uint8_t *bytes, size_t size, enum reduce_extent extent,
			 uint64_t *ret_size)
{
	struct reduce_source s = { .fd = -1, .memory = bytes, .size = size };
	struct reduced r;
	uint8_t *image = NULL;

	*ret_size = 0;
	if (reduce_plan(&r, &s, extent)) {
		assert_true(r.size <= size + (1u << 20));
		*ret_size = r.size;
		image = xmalloc(r.size);
		for (uint64_t at = 0; at < r.size; at += 9973)
			if (!reduce_read(&r, &s, image + at,
					 r.size - at < 9973 ? (size_t)(r.size - at) : 9973, at))
				*ret_size = 0;
	}
	reduce_release(&r);
	return image;
}

static void test_sections(void **state)
{
	const Elf64_Ehdr *before = (const void *)program, *after;
	const Elf64_Shdr *old, *new;
	uint64_t size;
	uint8_t *image = image_of(program, program_size, REDUCE_TABLES, &size);
	unsigned remaining = 0;

	assert_non_null(image);
	assert_true(size < program_size);
	after = (const void *)image;
	assert_int_equal(after->e_shnum, before->e_shnum);
	old = (const void *)(program + before->e_shoff);
	new = (const void *)(image + after->e_shoff);
	for (unsigned i = 1; i < before->e_shnum; i++) {
		assert_int_equal(new[i].sh_addr, old[i].sh_addr);
		assert_int_equal(new[i].sh_size, old[i].sh_size);
		assert_int_equal(new[i].sh_name, old[i].sh_name);
		assert_true(!(new[i].sh_flags &SHF_EXECINSTR) || new[i].sh_type == SHT_NOBITS);
		if (new[i].sh_type == SHT_NOBITS)
			continue;
		remaining++;
		assert_true(new[i].sh_offset + new[i].sh_size <= size);
		assert_memory_equal(image + new[i].sh_offset, program + old[i].sh_offset,
				    new[i].sh_size);
	}
	assert_true(remaining > 4);
	free(image);
	image = image_of(program, program_size, REDUCE_NOTHING, &size);
	assert_int_equal(size, program_size);
	assert_memory_equal(image, program, size);
	free(image);
}

static Elf64_Shdr *section_named(uint8_t *bytes, const char *name)
{
	const Elf64_Ehdr *h = (const void *)bytes;
	Elf64_Shdr *rows = (void *)(bytes + h->e_shoff);

	for (unsigned i = 1; i < h->e_shnum; i++)
		if (!strcmp((char *)bytes + rows[h->e_shstrndx].sh_offset + rows[i].sh_name, name))
			return &rows[i];
	return NULL;
}

/* Large unwind tables of a file that can be had again are left out, and their index with them. */
static void test_frames_and_their_index(void **state)
{
	const size_t large = (1u << 20) + 16, room = program_size + large;
	uint8_t *copy = xcalloc(1, room), *image;
	uint64_t size;

	memcpy(copy, program, program_size);
	for (unsigned i = 0; i < 2; i++) {
		image = image_of(copy, room, REDUCE_EXPORTED, &size);
		assert_non_null(image);
		assert_int_equal(section_named(image, ".eh_frame")->sh_type == SHT_NOBITS, i);
		assert_int_equal(section_named(image, ".eh_frame_hdr")->sh_type == SHT_NOBITS, i);
		free(image);
		section_named(copy, ".eh_frame")->sh_size = large;
	}
	free(copy);
}

/* Nothing in a header is believed. */
static void test_broken_headers(void **state)
{
	const Elf64_Ehdr *h = (const void *)program;
	uint8_t *copy = xmalloc(program_size);
	uint64_t size;

	srand(16);
	memcpy(copy, program, program_size);
	for (unsigned i = 0; i < 3000; i++) {
		size_t table = i % 3 == 0 ? 0 : i % 3 == 1 ? h->e_phoff : h->e_shoff;
		size_t room = i % 3 == 0   ? sizeof(*h)
			      : i % 3 == 1 ? h->e_phnum * sizeof(Elf64_Phdr)
					   : h->e_shnum * sizeof(Elf64_Shdr);
		size_t at = table + (size_t)rand() % (room - 8);
		uint64_t odd[] = { 0, UINT64_MAX, program_size, (uint64_t)rand(), 1ull << 63 };

		memcpy(copy + at, &odd[(unsigned)rand() % 5], 1u << (unsigned)rand() % 4);
		free(image_of(copy, program_size, (unsigned)rand() % 2, &size));
		memcpy(copy + at, program + at, 8);
	}
	/* In memory of its own size, so that a sanitizer sees what is read behind it. */
	for (size_t cut = 0; cut < program_size; cut += cut < 128 ? 1 : program_size / 97) {
		uint8_t *some = xmalloc(cut + 1);

		memcpy(some, program, cut);
		free(image_of(some, cut, REDUCE_TABLES, &size));
		free(some);
	}
	free(copy);
}

static int write_pieces(const uint8_t *bytes, size_t size)
{
	struct pieces_writer w = { .fd = memfd_create("pieces", MFD_CLOEXEC) };
	size_t room = ZSTD_compressBound(PIECE_SIZE);
	void *frame = xmalloc(room);
	ZSTD_CCtx *z = ZSTD_createCCtx();
	int fd = w.fd;

	ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1); /* as the collector does */
	for (size_t at = 0; at < size; at += PIECE_SIZE) {
		size_t n = size - at < PIECE_SIZE ? size - at : PIECE_SIZE;

		pieces_add(&w, frame, ZSTD_compress2(z, frame, room, bytes + at, n), n);
	}
	assert_int_equal(pieces_finish(&w), 0);
	pieces_writer_release(&w);
	ZSTD_freeCCtx(z);
	free(frame);
	return fd;
}

static bool read_pieces(int fd, struct buf *out)
{
	struct pieces p;
	bool fine;

	if (!pieces_open(&p, fd))
		return false;
	fine = pieces_unpack(&p, UINT64_MAX, out);
	pieces_release(&p);
	return fine;
}

static void test_pieces(void **state)
{
	size_t sizes[] = { 1, PIECE_SIZE - 1, PIECE_SIZE, PIECE_SIZE + 1, 3 * PIECE_SIZE + 5 };
	struct buf out = { 0 };

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t *bytes = xcalloc(1, sizes[i]);
		off_t whole;
		int fd;

		for (size_t k = 0; k < sizes[i]; k++)
			bytes[k] = (uint8_t)(k * k >> 7);
		fd = write_pieces(bytes, sizes[i]);
		assert_true(read_pieces(fd, &out));
		assert_int_equal(out.size, sizes[i]);
		assert_memory_equal(out.data, bytes, sizes[i]);
		whole = lseek(fd, 0, SEEK_END);
		/* Any number in the end that is wrong is noticed, or changes nothing. */
		for (off_t at = whole - 40; at < whole; at++) {
			uint8_t byte, other;

			if (at < 0)
				continue;
			assert_int_equal(pread(fd, &byte, 1, at), 1);
			other = byte ^ 0x15;
			assert_int_equal(pwrite(fd, &other, 1, at), 1);
			if (read_pieces(fd, &out)) {
				assert_int_equal(out.size, sizes[i]);
				assert_memory_equal(out.data, bytes, sizes[i]);
			}
			assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		}
		for (off_t cut = whole - 1; cut >= 0; cut -= cut > 200 ? cut / 7 : 1) {
			assert_int_equal(ftruncate(fd, cut), 0);
			assert_false(read_pieces(fd, &out));
		}
		close(fd);
		free(bytes);
	}
	buf_release(&out);
}

UNIT(reduce)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sections),
		cmocka_unit_test(test_frames_and_their_index),
		cmocka_unit_test(test_broken_headers),
		cmocka_unit_test(test_pieces),
	};

	return cmocka_run_group_tests(tests, read_program, free_program);
}
