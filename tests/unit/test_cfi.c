/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The .eh_frame decoder against elfutils': every row of every function of real libraries.
 *
 * Built for each processor (unwind/<arch>/arch.h), and run here: what is decoded are the libraries
 * in LIBRARIES, which make cross has unpacked. */
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
static unwind_rule with_return(enum unwind_kind kind, int64_t offset, int64_t saved, int64_t at)
{
#if ARCH_LINK_REGISTER
	uint64_t words = (uint64_t)-at / 8;

	if (saved > 8 && at == 8 - saved) {
		if (saved / 8 > RULE_SAVED_MAX)
			return rule_make(RULE_RECORD, saved / 8, 0);
		words = ARCH_RETURN_BESIDE_FP;
	} else if (words > ARCH_RETURN_MAX) {
		return rule_make(RULE_BROKEN, 0, 0);
	}
	return rule_make(kind, offset / 8, (uint64_t)saved / 8) | words << 40;
#else
	(void)at;
	return rule_make(kind, offset / 8, (uint64_t)saved / 8);
#endif
}

static void compare_row(struct loaded *l, const char *path, uint64_t start, uint64_t end,
			unwind_rule want)
{
	for (int side = 0; side < 2; side++) {
		uint64_t pc = side ? end - 1 : start;
		unwind_rule got = cfi_rule(&l->image, (uint64_t)l->base + pc, &l->scratch);

		if (want != RULE_UNKNOWN && got != want) {
			print_message("# %s: at %#lx: %#lx, not %#lx\n", path, pc, got, want);
			fail();
		}
	}
}

/* Not skip(): meson takes what cmocka writes then for a failure. */
static bool was_unpacked(const char *path)
{
	if (!access(path, R_OK) || !strstr(path, "/build-"))
		return true;
	print_message("# no %s: make cross has not been there\n", path);
	return false;
}

#ifndef ARCH_READS_CODE
static unwind_rule expected(Dwarf_Frame *frame)
{
	Dwarf_Op *ops, memory[3];
	size_t n;
	bool signal, in_register;
	int64_t offset, saved = 0, at = 0;
	enum unwind_kind kind;

	dwarf_frame_info(frame, NULL, NULL, &signal);
	if (signal)
		return rule_make(RULE_SIGNAL, 0, 0);
	if (dwarf_frame_register(frame, REGISTER_RETURN, memory, &ops, &n))
		return RULE_UNKNOWN;
	if (n == 0 && ops == memory)
		return rule_make(RULE_END, 0, 0);
	in_register = ARCH_LINK_REGISTER && n == 0;
	if (!in_register &&
	    (n != 2 || ops[0].atom != DW_OP_call_frame_cfa || ops[1].atom != DW_OP_plus_uconst ||
	     (!ARCH_LINK_REGISTER &&
	      (int64_t)ops[1].number != -8))) /* vfork keeps it in a register */
		return rule_make(RULE_BROKEN, 0, 0);
	if (!in_register)
		at = (int64_t)ops[1].number;
	if (dwarf_frame_cfa(frame, &ops, &n))
		return RULE_UNKNOWN;
	if (n == 1 && (ops[0].atom == DW_OP_breg0 + REGISTER_SP ||
		       (ops[0].atom == DW_OP_bregx && ops[0].number == REGISTER_SP)))
		kind = RULE_SP;
	else if (n == 1 && (ops[0].atom == DW_OP_breg0 + REGISTER_FP ||
			    (ops[0].atom == DW_OP_bregx && ops[0].number == REGISTER_FP)))
		kind = RULE_FP;
	else
		return RULE_UNKNOWN;
	offset = (int64_t)(ops[0].atom == DW_OP_bregx ? ops[0].number2 : ops[0].number);
	if (dwarf_frame_register(frame, REGISTER_FP, memory, &ops, &n))
		return RULE_UNKNOWN;
	if (n == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst)
		saved = -(int64_t)ops[1].number;
	else if (n)
		return RULE_UNKNOWN;
	if (offset & 7 || saved & 7)
		return RULE_UNKNOWN;
	if (in_register)
		return rule_make(kind == RULE_SP ? RULE_LINK : RULE_LINK_FP, offset / 8,
				 (uint64_t)saved / 8);
	return with_return(kind, offset, saved, at);
}

static void compare_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;
	Dwarf_CFI *cfi;
	struct loaded l;
	unsigned long rows = 0, unsaid = 0;
	GElf_Shdr text = { 0 };
	Elf_Scn *section = NULL;
	size_t names;

	if (!was_unpacked(path))
		return;
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
		unwind_rule want;

		if (dwarf_cfi_addrframe(cfi, at, &frame)) {
			at++;
			continue;
		}
		dwarf_frame_info(frame, &start, &end, NULL);
		want = expected(frame);
		free(frame);
		compare_row(&l, path, at, end, want);
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

#else
#include <stdio.h>

#include "unwind/scan.h"

/* Elfutils has no tables for this processor: binutils' readelf writes them out. */

static void open_file(const char *path, struct loaded *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;

	assert_true(fd >= 0);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	load(elf, fd, ret);
	elf_end(elf);
	close(fd);
}

/* What stands in a column of a row: "c-16", or "u" and "s" for nothing that is known. */
static int64_t column(const char *text)
{
	return *text == 'c' ? strtol(text + 1, NULL, 10) : 0;
}

/* A row of readelf's; `fp` and `ra` are where their columns are, 0: nowhere. */
static unwind_rule row_expected(char *row, unsigned fp, unsigned ra)
{
	int64_t saved = 0, at = 0, offset = 0;
	enum unwind_kind kind = RULE_UNKNOWN;
	char *rest = NULL, *word = strtok_r(row, " \n", &rest);

	for (unsigned i = 0; word; i++, word = strtok_r(NULL, " \n", &rest)) {
		if (i == 1 && word[0] == 'r') {
			unsigned reg = (unsigned)strtoul(word + 1, &word, 10);

			kind = reg == REGISTER_SP ? RULE_SP
			       : reg == REGISTER_FP ? RULE_FP
						    : RULE_UNKNOWN;
			offset = strtol(word, NULL, 10);
		} else if (i && i == fp) {
			saved = -column(word);
		} else if (i && i == ra) {
			at = column(word);
		}
	}
	if (kind == RULE_UNKNOWN)
		return RULE_UNKNOWN;
	if (!at)
		return rule_make(kind == RULE_SP ? RULE_LINK : RULE_LINK_FP, offset / 8,
				 (uint64_t)saved / 8);
	return with_return(kind, offset, saved, at);
}

static void compare_file(const char *path)
{
	char command[4096], line[1024], before[1024] = "", *at;
	unsigned long rows = 0, unsaid = 0;
	unsigned fp = 0, ra = 0, end_column = 0;
	uint64_t end = 0;
	struct loaded l;
	FILE *pipe;

	if (!was_unpacked(path))
		return;
	open_file(path, &l);
	snprintf(command, sizeof(command), "readelf -W --debug-dump=frames-interp '%s'", path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		bool is_row = strspn(line, "0123456789abcdef") == 16 && line[16] == ' ' &&
			      line[17] == 'r';
		uint64_t start = strtoul(before, NULL, 16), next = strtoul(line, NULL, 16);
		unwind_rule want;

		/* The last row of a function reaches to its end. */
		if (*before && fp + ra) {
			want = row_expected(before, fp, ra);
			next = is_row ? next : end;
			if (next > start) {
				/* Nobody returns from a thread's first function. */
				if (rule_kind(cfi_rule(&l.image, (uint64_t)l.base + start,
						       &l.scratch)) == RULE_END)
					want = RULE_UNKNOWN;
				compare_row(&l, path, start, next, want);
				rows++;
				unsaid += want == RULE_UNKNOWN;
			}
		}
		*before = 0;
		if (is_row) {
			strcpy(before, line);
		} else if ((at = strstr(line, "pc=")) && strstr(line, " FDE ")) {
			end = strtoul(strstr(at, "..") + 2, NULL, 16);
		} else if (strstr(line, "   LOC ")) {
			char *rest = NULL, *word = strtok_r(line, " \n", &rest);

			fp = ra = 0;
			for (end_column = 0; word;
			     word = strtok_r(NULL, " \n", &rest), end_column++) {
				fp = !strcmp(word, "r30") ? end_column : fp;
				ra = !strcmp(word, "ra") ? end_column : ra;
			}
		}
	}
	assert_int_equal(pclose(pipe), 0);
	print_message("# %s: %lu rows, %lu that readelf tells in other words\n", path, rows,
		      unsaid);
	assert_true(rows > 1000);
	assert_true(unsaid < rows / 50);
	munmap(l.base, l.size);
}

static uint32_t word_at(const uint8_t *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static bool is_jump(uint32_t w)
{
	return w >> 26 == 3 || w >> 26 == 2 || (w >> 26 == 0 && (w & 0x3e) == 8) ||
	       (w >> 26 >= 4 && w >> 26 <= 7) || w >> 26 == 1;
}

/* Has the code before p, back to a jump, begun to leave the function?  Tables do not follow. */
static bool is_leaving(const uint8_t *p)
{
	for (int i = 0; i < 64; i++) {
		uint32_t w = word_at(p -= 4);

		if (w >> 16 == 0xdfbf || (w >> 16 == 0x67bd && !(w & 0x8000)))
			return true; /* ld ra, …(sp); daddiu sp, sp, … */
		if (is_jump(word_at(p - 4)))
			return false;
	}
	return false;
}

/* The loader's first code calls constructors, and has nobody to return to; what begins like it and
 * returns is no end. */
static void test_outermost(void **state)
{
	static struct scan_scratch scratch;
	uint32_t code[] = {
		0x67bdffe0, /* daddiu sp, sp, -32: of another function */
		0xffbf0018, /* sd ra, 24(sp) */
		0x03e00008, /* jr ra */
		0x67bd0020, /* daddiu sp, sp, 32 */
		0x67bdfff0, /* daddiu sp, sp, -16 */
		0x0320f809, /* jalr t9 */
		0x00000000, /* nop */
		0xdfbd0008, /* ld sp, 8(sp) */
		0x03200008, /* jr t9 */
		0x00000000, /* nop */
	};
	const uint8_t *low = (const uint8_t *)code, *high = low + sizeof(code), *at = low + 28;

	(void)state;
	assert_int_equal(rule_kind(scan_ahead(low, high, at, false, &scratch)), RULE_BROKEN);
	assert_int_equal(rule_kind(scan_back(low, high, at, false, &scratch)), RULE_END);
	code[5] = 0xffbf0008; /* sd ra, 8(sp) */
	code[7] = 0xdfbf0008; /* ld ra, 8(sp) */
	code[9] = 0x67bd0010; /* daddiu sp, sp, 16 */
	assert_int_equal(scan_ahead(low, high, at, false, &scratch),
			 rule_with_return(rule_make(RULE_SP, 2, 0), 1));
}

/* What is read in the code is what the tables say: behind each call the same rule; at any other
 * instruction a frame of the same size, since tables are late with what has been saved. */
static void test_code(void **state)
{
	static struct scan_scratch scratch;
	const char *path = LIBRARIES "/libstdc++.so.6";
	unsigned long calls = 0, back = 0, others = 0, unread = 0, unlike = 0;
	const uint8_t *high;
	struct loaded l;

	(void)state;
	if (!was_unpacked(path))
		return;
	open_file(path, &l);
	high = l.base + l.size;
	for (const uint8_t *p = l.base + 512; p < high - 8; p += 4) {
		uint32_t call = word_at(p - 8);
		unwind_rule want = cfi_rule(&l.image, (uint64_t)p - 1, &l.scratch), got;

		if ((call >> 26 == 3 || (call >> 26 == 0 && (call & 0x3f) == 9)) &&
		    rule_kind(want) != RULE_GUESS) {
			got = scan_ahead(l.base, high, p, false, &scratch);
			if (rule_kind(got) == RULE_BROKEN) {
				got = scan_back(l.base, high, p, false, &scratch);
				back++;
			}
			if (got != want)
				print_message("# %s: behind the call at %#lx: %#lx, not %#lx\n",
					      path, (uint64_t)(p - 8 - l.base), got, want);
			assert_true(got == want);
			calls++;
		}
		want = cfi_rule(&l.image, (uint64_t)p, &l.scratch);
		if (rule_kind(want) == RULE_GUESS || is_jump(word_at(p - 4)) || is_leaving(p))
			continue;
		got = scan_ahead(l.base, high, p, true, &scratch);
		others++;
		unread += rule_kind(got) == RULE_BROKEN;
		if (rule_kind(got) == RULE_BROKEN)
			continue;
		if (rule_offset(got) != rule_offset(want) && unlike++ < 10)
			print_message("# %s: at %#lx: %#lx, not %#lx\n", path,
				      (uint64_t)(p - l.base), got, want);
	}
	print_message("# %s: %lu calls, %lu of them by how functions begin; %lu other places, %lu "
		      "that are not read, %lu that are read otherwise\n",
		      path, calls, back, others, unread, unlike);
	assert_true(calls > 10000 && others > 100000 && unread < others / 10);
	/* What never runs: nothing leads to it, and it fills up a line. */
	assert_true(unlike < others / 1000);
	munmap(l.base, l.size);
}
#endif

static void test_libc(void **state)
{
	(void)state;
	compare_file(LIBRARIES "/libc.so.6");
}

static void test_libstdcxx(void **state)
{
	(void)state;
	compare_file(LIBRARIES "/libstdc++.so.6");
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
		cmocka_unit_test(test_rule_fields), cmocka_unit_test(test_nothing_known),
		cmocka_unit_test(test_libc),	    cmocka_unit_test(test_libstdcxx),
#ifdef ARCH_READS_CODE
		cmocka_unit_test(test_code),	    cmocka_unit_test(test_outermost),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
