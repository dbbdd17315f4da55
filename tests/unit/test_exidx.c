/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The .ARM.exidx decoder: answers made by hand, and every function of ARM's libc against what
 * binutils' readelf says of it, where make cross has unpacked the one and installed the other. */
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"
#include "unwind/cfi.h"

#define EXIDX_SEGMENT 0x70000001 /* PT_ARM_EXIDX */

static struct cfi_scratch scratch;

/* Code, an index of one function that starts at 0 and one that cannot be unwound behind it, and
 * what the index refers to. */
struct made {
	uint8_t code[64];
	uint32_t index[4];
	uint32_t table[16];
};

static uint32_t distance(const void *from, const void *to)
{
	return (uint32_t)((const uint8_t *)to - (const uint8_t *)from) & 0x7fffffff;
}

static struct cfi_image image_of(struct made *m, uint32_t word)
{
	m->index[0] = distance(&m->index[0], m->code);
	m->index[1] = word;
	m->index[2] = distance(&m->index[2], m->code + 32);
	m->index[3] = 1;
	return (struct cfi_image){ .low = (const uint8_t *)m,
				   .high = (const uint8_t *)(m + 1),
				   .eh_frame_hdr = (const uint8_t *)m->index,
				   .entries = 2 };
}

static unwind_rule rule_at(const struct cfi_image *image, const uint8_t *p)
{
	return cfi_rule(image, (uintptr_t)p, &scratch);
}

/* Of a function with these operations in its index. */
static unwind_rule decoded(uint32_t word)
{
	static struct made m;
	struct cfi_image image = image_of(&m, word);

	return rule_at(&image, m.code + 9);
}

/* By word counts: of the CFA, and of r7, r11 and the return address below it. */
static unwind_rule rule(enum unwind_kind kind, int64_t cfa, unsigned low, unsigned high,
			unsigned back)
{
	return rule_with_return(rule_make(kind, cfa, low | high << 7), back);
}

static void test_in_the_index(void **state)
{
	(void)state;
	/* pop {r4, r14} */
	assert_int_equal(decoded(0x80a8b0b0), rule(RULE_SP, 2, 0, 0, 1));
	/* pop {r4-r11, r14} behind 12 bytes */
	assert_int_equal(decoded(0x8002afb0), rule(RULE_SP, 12, 6, 2, 1));
	/* pop {r7, r14}, which alone says so */
	assert_int_equal(decoded(0x808408b0), rule(RULE_SP, 2, 2, 0, 1));
	/* vsp = r7; 8 bytes; pop {r7, r14} would be two bytes more: pop {r4-r7, r14} */
	assert_int_equal(decoded(0x809701ab), rule(RULE_FP, 7, 2, 0, 1));
	assert_int_equal(decoded(0x809b01ab), rule(RULE_FP_HIGH, 7, 2, 0, 1));
	/* nothing saved: the return address is in its register */
	assert_int_equal(decoded(0x80b0b0b0), rule(RULE_LINK, 0, 0, 0, 0));
	/* pop {r4}; nothing of the return address */
	assert_int_equal(decoded(0x80a0b0b0), rule(RULE_LINK, 1, 0, 0, 0));
	/* pop {r15}, as the return address */
	assert_int_equal(decoded(0x808800b0), rule(RULE_SP, 1, 0, 0, 1));
	/* arguments above: pop {r4, r14}, 16 bytes */
	assert_int_equal(decoded(0x80a803b0), rule(RULE_SP, 6, 0, 0, 5));
	/* floating-point registers d8 and d9, then pop {r4, r14} */
	assert_int_equal(decoded(0x80d1a8b0), rule(RULE_SP, 6, 0, 0, 1));
	assert_int_equal(decoded(0x80b9a8b0), rule(RULE_SP, 7, 0, 0, 1));
}

static void test_refused(void **state)
{
	static const uint32_t words[] = {
		0x808000b0, /* told to refuse */
		0x809db0b0, /* vsp = r13 */
		0x8094b0b0, /* vsp = r4 */
		0x80a897b0, /* another base when something was popped already */
		0x80b100b0, /* spare */
		0x80c0b0b0, /* registers of another extension */
		0x83b0b0b0, /* no such model */
		0x90b0b0b0, /* no compact model at all */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_int_equal(rule_kind(decoded(words[i])), RULE_BROKEN);
	/* The linker's word for code without tables: nothing is known. */
	assert_int_equal(rule_kind(decoded(1)), RULE_GUESS);
}

static void test_tables(void **state)
{
	static struct made m;
	struct cfi_image image = image_of(&m, distance(&m.index[1], &m.table[1]));

	(void)state;
	/* Model 1, one more word: a large frame (uleb128), pop {r4-r11, r14}. */
	m.table[1] = 0x8101b240;
	m.table[2] = 0xafb0b0b0;
	assert_int_equal(rule_at(&image, m.code + 9),
			 rule(RULE_SP, (0x204 + (0x40 << 2)) / 4 + 9, 6, 2, 1));
	/* A routine's own: pop {r4, r14} behind 4 bytes, in the word behind it. */
	m.table[1] = 64;
	m.table[2] = 0x0000a8b0;
	assert_int_equal(rule_at(&image, m.code + 9), rule(RULE_SP, 3, 0, 0, 1));
	/* More words than there are. */
	m.table[1] = 64;
	m.table[2] = 0xff000000;
	assert_int_equal(rule_kind(rule_at(&image, m.code + 9)), RULE_BROKEN);
	/* A table outside. */
	image = image_of(&m, 0x3fffffff);
	assert_int_equal(rule_kind(rule_at(&image, m.code + 9)), RULE_BROKEN);
}

static void test_ends(void **state)
{
	static struct made m;
	struct cfi_image image = image_of(&m, 0x80a8b0b0);
	/* What the function of a thread returns to: mov r7, #1; svc. */
	static const uint16_t thumb[] = { 0xf04f, 0x0701, 0xdf00, 0xbf00 },
			      short_one[] = { 0x2701, 0xdf00 };
	static const uint32_t arm[] = { 0xe3a07001, 0xef000000 };

	(void)state;
	memcpy(m.code + 40, thumb, sizeof(thumb));
	assert_int_equal(rule_kind(rule_at(&image, m.code + 39)), RULE_END);
	memcpy(m.code + 40, short_one, sizeof(short_one));
	assert_int_equal(rule_kind(rule_at(&image, m.code + 39)), RULE_END);
	memcpy(m.code + 40, arm, sizeof(arm));
	assert_int_equal(rule_kind(rule_at(&image, m.code + 39)), RULE_END);
	m.code[40] = 120;
	assert_int_equal(rule_kind(rule_at(&image, m.code + 39)), RULE_GUESS);
	/* In front of all functions, and without tables. */
	assert_int_equal(rule_kind(cfi_rule(&image, (uintptr_t)m.code - 1, &scratch)), RULE_GUESS);
	image.entries = 0;
	assert_int_equal(rule_kind(rule_at(&image, m.code + 9)), RULE_GUESS);
}

/* What handlers return to. */
static void test_signal_frames(void **state)
{
	static const uint16_t libc[] = { 0xf04f, 0x0777, 0xdf00, 0 },
			      with_info[] = { 0xf04f, 0x07ad, 0xdf00, 0 },
			      thumb[] = { 0x27ad, 0xdf00, 0, 0 };
	static const uint32_t arm[] = { 0xe3a07077, 0xef900077 },
			      other[] = { 0xe3a07001, 0xef000000 };

	(void)state;
	assert_int_equal(arch_signal_frame((const uint8_t *)libc), 0);
	assert_int_equal(arch_signal_frame((const uint8_t *)with_info), SIGNAL_FRAME_INFO);
	assert_int_equal(arch_signal_frame((const uint8_t *)thumb), SIGNAL_FRAME_INFO);
	assert_int_equal(arch_signal_frame((const uint8_t *)arm), 0);
	assert_int_equal(arch_signal_frame((const uint8_t *)other), -1);
}

/* A function's way through its own prologue and out of it, an instruction at a time. */
static void test_interrupted(void **state)
{
	static const uint16_t code[] = {
		0x2800,		/*  0 cmp r0, #0 */
		0xd00d,		/*  2 beq out */
		0xb5f0,		/*  4 push {r4-r7, lr} */
		0x4604,		/*  6 mov r4, r0 */
		0xed2d, 0x8b02, /*  8 vpush {d8} */
		0xb083,		/* 12 sub sp, #12 */
		0xaf00,		/* 14 add r7, sp, #0 */
		0xf7ff, 0xfffe, /* 16 bl */
		0x2000,		/* 20 movs r0, #0 */
		0xb003,		/* 22 add sp, #12 */
		0xecbd, 0x8b02, /* 24 vpop {d8} */
		0xbdf0,		/* 28 pop {r4-r7, pc} */
		0x4770,		/* 30 bx lr */
	};
	const struct {
		unsigned at;
		unwind_rule rule;
	} rows[] = {
		{ 0, rule(RULE_LINK, 0, 0, 0, 0) },  { 2, rule(RULE_LINK, 0, 0, 0, 0) },
		{ 4, rule(RULE_LINK, 0, 0, 0, 0) },  { 6, rule(RULE_SP, 5, 2, 0, 1) },
		{ 8, rule(RULE_SP, 5, 2, 0, 1) },    { 12, rule(RULE_SP, 7, 2, 0, 1) },
		{ 14, rule(RULE_SP, 10, 2, 0, 1) },  { 16, rule(RULE_SP, 10, 2, 0, 1) },
		{ 20, rule(RULE_SP, 10, 2, 0, 1) },  { 22, rule(RULE_SP, 10, 2, 0, 1) },
		{ 24, rule(RULE_SP, 7, 2, 0, 1) },   { 28, rule(RULE_SP, 5, 2, 0, 1) },
		{ 30, rule(RULE_LINK, 0, 0, 0, 0) },
	};
	static struct made m;
	/* 12 bytes, d8, pop {r4-r7, r14} */
	struct cfi_image image = image_of(&m, 0x8002d0ab);

	(void)state;
	memcpy(m.code, code, sizeof(code));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(rule_at(&image, m.code + rows[i].at), rows[i].rule);
	/* The return of the call. */
	assert_int_equal(rule_at(&image, m.code + 19), rule(RULE_SP, 10, 2, 0, 1));
	/* A frame of a size that is computed: the tables say. */
	m.code[14] = 0x85; /* mov sp, r0 */
	m.code[15] = 0x46;
	m.index[1] = 0x809701ab;
	assert_int_equal(rule_at(&image, m.code + 16), rule(RULE_FP, 7, 2, 0, 1));
}

struct loaded {
	uint8_t *base;
	struct cfi_image image;
};

static bool load(const char *path, struct loaded *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t end = 0;
	size_t count;
	GElf_Phdr p;
	Elf *elf;

	/* Not skip(): meson takes what cmocka writes then for a failure. */
	if (fd < 0) {
		print_message("# no %s: make cross has not been there\n", path);
		return false;
	}
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_int_equal(elf_getphdrnum(elf, &count), 0);
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD)
			end = p.p_vaddr + p.p_memsz;
	ret->base = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(ret->base != MAP_FAILED);
	ret->image = (struct cfi_image){ .low = ret->base, .high = ret->base + end };
	for (size_t i = 0; i < count; i++) {
		gelf_getphdr(elf, (int)i, &p);
		if (p.p_type == PT_LOAD)
			assert_int_equal(
				pread(fd, ret->base + p.p_vaddr, p.p_filesz, (off_t)p.p_offset),
				(ssize_t)p.p_filesz);
		if (p.p_type == EXIDX_SEGMENT) {
			ret->image.eh_frame_hdr = ret->base + p.p_vaddr;
			ret->image.entries = p.p_memsz / 8;
		}
	}
	assert_non_null(ret->image.eh_frame_hdr);
	elf_end(elf);
	close(fd);
	return true;
}

/* What readelf's lines about one function come to. */
struct told {
	enum unwind_kind kind;
	int64_t vsp, at[16];
	bool has[16], unclear;
};

static void follow(struct told *t, const char *line)
{
	const char *pop = strstr(line, "pop {"), *vsp = strstr(line, "vsp = ");
	int number;

	if (vsp && sscanf(vsp, "vsp = vsp + %d", &number) == 1) {
		t->vsp += number;
	} else if (vsp && sscanf(vsp, "vsp = r%d", &number) == 1) {
		t->kind = number == 7 ? RULE_FP : number == 11 ? RULE_FP_HIGH : RULE_BROKEN;
		t->vsp = 0;
	} else if (pop && pop[5] == 'r') {
		for (const char *c = pop + 5; sscanf(c, "r%d", &number) == 1;
		     c += *c == ',' ? 2 : 0) {
			if (number == 13) /* a signal's frame, known by its instructions */
				t->kind = RULE_BROKEN;
			t->has[number] = true;
			t->at[number] = t->vsp;
			t->vsp += 4;
			c += strcspn(c, ",}");
		}
	} else if (!strstr(line, "finish")) {
		t->unclear = true;
	}
}

static unsigned words(const struct told *t, unsigned reg)
{
	return t->has[reg] ? (unsigned)((t->vsp - t->at[reg]) / 4) : 0;
}

static void compare(const struct loaded *l, const struct told *t, uint64_t address)
{
	unwind_rule want = rule(t->has[14] || t->has[15] ? t->kind : RULE_LINK, t->vsp / 4,
				words(t, 7), words(t, 11), words(t, t->has[15] ? 15 : 14));
	unwind_rule got = cfi_rule(&l->image, (uintptr_t)l->base + address + 1, &scratch);

	if (t->kind == RULE_BROKEN)
		want = rule_make(RULE_BROKEN, 0, 0);
	if (got != want) {
		print_message("# at %#lx: %#lx, not %#lx\n", address, got, want);
		fail();
	}
}

/* Functions whose operations readelf spells out: those without a routine of their language's. */
static void test_libc_by_readelf(void **state)
{
	static const char path[] = LIBRARIES "/libc.so.6";
	struct told t = { RULE_SP };
	unsigned functions = 0, operations = 0;
	uint64_t address = 0, next;
	struct loaded l;
	char line[512];
	FILE *tool;

	(void)state;
	if (!load(path, &l))
		return;
	tool = popen("arm-linux-gnueabihf-readelf -u " LIBRARIES "/libc.so.6 2>/dev/null", "r");
	assert_non_null(tool);
	while (fgets(line, sizeof(line), tool)) {
		if (sscanf(line, "0x%lx", &next) == 1) {
			address = next;
			t = (struct told){ RULE_SP };
			operations = 0;
		} else if (!strncmp(line, "  0x", 4)) {
			follow(&t, line);
			operations++;
		} else if (*line == '\n' && operations && !t.unclear) {
			compare(&l, &t, address);
			operations = 0;
			functions++;
		}
	}
	if (pclose(tool))
		print_message("# no arm-linux-gnueabihf-readelf\n");
	else
		assert_true(functions > 500);
	print_message("# %s: %u functions\n", path, functions);
}

/* All that there is can be used, but for what cannot be unwound. */
static void test_all_entries(void **state)
{
	static const char *const names[] = { LIBRARIES "/libc.so.6", LIBRARIES "/libstdc++.so.6" };
	struct loaded l;

	(void)state;
	for (int n = 0; n < 2; n++) {
		unsigned kinds[16] = { 0 };

		if (!load(names[n], &l))
			return;
		for (size_t i = 0; i < l.image.entries; i++) {
			const uint8_t *at = l.image.eh_frame_hdr + 8 * i;
			int32_t word;

			memcpy(&word, at, sizeof(word));
			word = (int32_t)((uint32_t)word << 1) >> 1;
			kinds[rule_kind(cfi_rule(&l.image, (uintptr_t)at + (uint64_t)word + 1,
						 &scratch))]++;
		}
		print_message("# %s: %zu functions, %u refused\n", names[n], l.image.entries,
			      kinds[RULE_BROKEN]);
		assert_true(kinds[RULE_SP] + kinds[RULE_FP] > l.image.entries / 2);
		assert_true(kinds[RULE_BROKEN] <= l.image.entries / 100);
	}
}

UNIT(exidx)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_the_index),	cmocka_unit_test(test_refused),
		cmocka_unit_test(test_tables),		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_signal_frames),	cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_libc_by_readelf), cmocka_unit_test(test_all_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
