/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The .eh_frame decoder against elfutils': every row of every function of real libraries. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"
#include "unwind/cfi.h"

/* A library's load segments laid out as the loader would. */
struct loaded {
	uint8_t *base;
	size_t size;
	struct cfi_image image;
	struct cfi_scratch scratch;
};

static void load(Elf *elf, int fd, struct loaded *ret)
{
	size_t count;
	uint64_t end = 0, header = 0;

	assert_int_equal(elf_getphdrnum(elf, &count), 0);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr p;

		gelf_getphdr(elf, (int)i, &p);
		if (p.p_type == PT_LOAD && p.p_vaddr + p.p_memsz > end)
			end = p.p_vaddr + p.p_memsz;
		if (p.p_type == PT_GNU_EH_FRAME)
			header = p.p_vaddr;
	}
	ret->size = end;
	ret->base = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(ret->base != MAP_FAILED);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr p;

		gelf_getphdr(elf, (int)i, &p);
		if (p.p_type == PT_LOAD)
			assert_int_equal(
				pread(fd, ret->base + p.p_vaddr, p.p_filesz, (off_t)p.p_offset),
				(ssize_t)p.p_filesz);
	}
	ret->image = (struct cfi_image){ ret->base, ret->base + end, ret->base + header };
}

/* What elfutils says about a row, in the decoder's words; RULE_UNKNOWN where it has no word. */
static unwind_rule expected(Dwarf_Frame *frame)
{
	Dwarf_Op *ops, memory[3];
	size_t n;
	bool signal;
	int64_t offset, saved = 0;
	enum unwind_kind kind;

	dwarf_frame_info(frame, NULL, NULL, &signal);
	if (signal)
		return rule_make(RULE_SIGNAL, 0, 0);
	if (dwarf_frame_register(frame, 16, memory, &ops, &n))
		return RULE_UNKNOWN;
	if (n == 0 && ops == memory)
		return rule_make(RULE_END, 0, 0);
	if (n != 2 || ops[0].atom != DW_OP_call_frame_cfa || ops[1].atom != DW_OP_plus_uconst ||
	    (int64_t)ops[1].number != -8) /* vfork keeps it in a register */
		return rule_make(RULE_BROKEN, 0, 0);
	if (dwarf_frame_cfa(frame, &ops, &n))
		return RULE_UNKNOWN;
	if (n == 1 &&
	    (ops[0].atom == DW_OP_breg7 || (ops[0].atom == DW_OP_bregx && ops[0].number == 7)))
		kind = RULE_SP;
	else if (n == 1 &&
		 (ops[0].atom == DW_OP_breg6 || (ops[0].atom == DW_OP_bregx && ops[0].number == 6)))
		kind = RULE_FP;
	else
		return RULE_UNKNOWN;
	offset = (int64_t)(ops[0].atom == DW_OP_bregx ? ops[0].number2 : ops[0].number);
	if (dwarf_frame_register(frame, 6, memory, &ops, &n))
		return RULE_UNKNOWN;
	if (n == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst)
		saved = -(int64_t)ops[1].number;
	else if (n)
		return RULE_UNKNOWN;
	if (offset & 7 || saved & 7)
		return RULE_UNKNOWN;
	return rule_make(kind, offset / 8, (uint64_t)saved / 8);
}

static void compare_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;
	Dwarf_CFI *cfi;
	struct loaded l;
	struct cfi_scratch scratch;
	unsigned long rows = 0, unsaid = 0;
	GElf_Shdr text = { 0 };
	Elf_Scn *section = NULL;
	size_t names;

	assert_true(fd >= 0);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	load(elf, fd, &l);
	cfi = dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	elf_getshdrstrndx(elf, &names);
	while ((section = elf_nextscn(elf, section))) {
		gelf_getshdr(section, &text);
		if (!strcmp(elf_strptr(elf, names, text.sh_name), ".text"))
			break;
	}
	for (uint64_t at = text.sh_addr; at < text.sh_addr + text.sh_size;) {
		Dwarf_Frame *frame;
		Dwarf_Addr start, end;
		unwind_rule want, got;

		if (dwarf_cfi_addrframe(cfi, at, &frame)) {
			at++;
			continue;
		}
		dwarf_frame_info(frame, &start, &end, NULL);
		want = expected(frame);
		free(frame);
		for (int side = 0; side < 2; side++) {
			uint64_t pc = side ? end - 1 : at;

			got = cfi_rule(&l.image, (uint64_t)l.base + pc, &scratch);
			if (want != RULE_UNKNOWN && got != want) {
				print_message("# %s: at %#lx: %#lx, not %#lx\n", path, pc, got,
					      want);
				fail();
			}
		}
		rows++;
		unsaid += want == RULE_UNKNOWN;
		at = end > at ? end : at + 1;
	}
	print_message("# %s: %lu rows, %lu that elfutils tells in other words\n", path, rows,
		      unsaid);
	assert_true(rows > 1000);
	assert_true(unsaid < rows / 50);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	munmap(l.base, l.size);
	close(fd);
}

static void test_libc(void **state)
{
	(void)state;
	compare_file("/lib/x86_64-linux-gnu/libc.so.6");
}

static void test_libstdcxx(void **state)
{
	(void)state;
	compare_file("/lib/x86_64-linux-gnu/libstdc++.so.6");
}

static void test_nothing_known(void **state)
{
	struct cfi_image none = { 0 };
	struct cfi_scratch scratch;
	uint8_t zeros[64] = { 0 };
	struct cfi_image empty = { zeros, zeros + sizeof(zeros), zeros };

	(void)state;
	assert_int_equal(rule_kind(cfi_rule(&none, 1, &scratch)), RULE_GUESS);
	assert_int_equal(rule_kind(cfi_rule(&empty, (uint64_t)zeros + 8, &scratch)), RULE_GUESS);
}

static void test_rule_fields(void **state)
{
	unwind_rule r = rule_with_module(rule_make(RULE_FP, -3, 7), 0xfffe);

	(void)state;
	assert_int_equal(rule_kind(r), RULE_FP);
	assert_int_equal(rule_offset(r), -24);
	assert_int_equal(rule_saved(r), 56);
	assert_int_equal(rule_module(r), 0xfffe);
	assert_int_equal(rule_offset(rule_make(RULE_SP, RULE_OFFSET_MAX, RULE_SAVED_MAX)),
			 RULE_OFFSET_MAX * 8l);
	assert_int_equal(rule_saved(rule_make(RULE_SP, RULE_OFFSET_MAX, RULE_SAVED_MAX)),
			 RULE_SAVED_MAX * 8l);
}

UNIT(cfi)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rule_fields),
		cmocka_unit_test(test_nothing_known),
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_libstdcxx),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
