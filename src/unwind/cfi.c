/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The decoder of .eh_frame.
 *
 * Runs inside the target on the first meeting with a return address: any thread, any signal
 * handler, little stack.  Pure function of the image's bytes: no allocation, no lock, no call.
 * Every read is checked against the image's bounds, so damaged tables give RULE_BROKEN, not a
 * fault; fuzz/fuzz_cfi.c holds it to that. */
#include "unwind/cfi.h"

#include <stdbool.h>

#include "unwind/arch.h"

enum pointer_encoding {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

static uint64_t read_bytes(struct cfi_cursor *c, unsigned n)
{
	uint64_t v = 0;

	if (c->bad || (size_t)(c->end - c->p) < n) {
		c->bad = true;
		return 0;
	}
	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)c->p[i] << 8 * i;
	c->p += n;
	return v;
}

static uint64_t read_leb(struct cfi_cursor *c, bool with_sign)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)read_bytes(c, 1);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (with_sign && shift < 64 && byte & 0x40)
		v |= ~0ull << shift;
	return v;
}

static uint64_t read_uleb(struct cfi_cursor *c)
{
	return read_leb(c, false);
}

static int64_t read_sleb(struct cfi_cursor *c)
{
	return (int64_t)read_leb(c, true);
}

static uint64_t read_pointer(struct cfi_cursor *c, unsigned encoding, const uint8_t *data_base)
{
	uint64_t at = (uint64_t)c->p, v;

	switch (encoding & 0x0f) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		v = read_bytes(c, 8);
		break;
	case PE_ULEB128:
		v = read_uleb(c);
		break;
	case PE_SLEB128:
		v = (uint64_t)read_sleb(c);
		break;
	case PE_UDATA2:
		v = read_bytes(c, 2);
		break;
	case PE_SDATA2:
		v = (uint64_t)(int16_t)read_bytes(c, 2);
		break;
	case PE_UDATA4:
		v = read_bytes(c, 4);
		break;
	case PE_SDATA4:
		v = (uint64_t)(int32_t)read_bytes(c, 4);
		break;
	default:
		c->bad = true;
		return 0;
	}
	switch (encoding & 0x70) {
	case 0:
		break;
	case PE_PCREL:
		v += at;
		break;
	case PE_DATAREL:
		v += (uint64_t)data_base;
		break;
	default:
		c->bad = true;
		return 0;
	}
	return v;
}

static bool cursor_at(struct cfi_cursor *c, const struct cfi_image *image, uint64_t address)
{
	if (address < (uint64_t)image->low || address >= (uint64_t)image->high)
		return false;
	*c = (struct cfi_cursor){ image->low + (address - (uint64_t)image->low), image->high,
				  false };
	return true;
}

/* A record's length, leaving c at what follows it with its end set; false at the terminator. */
static bool enter_record(struct cfi_cursor *c)
{
	uint64_t size = read_bytes(c, 4);

	if (size == 0xffffffff)
		size = read_bytes(c, 8);
	if (c->bad || !size || size > (uint64_t)(c->end - c->p))
		return false;
	c->end = c->p + size;
	return true;
}

static bool read_cie(const struct cfi_image *image, uint64_t address, struct cfi_cie *cie)
{
	struct cfi_cursor c;
	const uint8_t *augmentation, *data_end = NULL;
	uint64_t version;

	*cie = (struct cfi_cie){ .pointer_encoding = PE_ABSPTR };
	if (!cursor_at(&c, image, address) || !enter_record(&c) || read_bytes(&c, 4) != 0)
		return false;
	version = read_bytes(&c, 1);
	if (version != 1 && version != 3 && version != 4)
		return false;
	augmentation = c.p;
	while (read_bytes(&c, 1))
		;
	if (version == 4 && read_bytes(&c, 2) != 8) /* sizes of an address and of a segment */
		return false;
	cie->code_align = read_uleb(&c);
	cie->data_align = read_sleb(&c);
	cie->ra_register = version == 1 ? read_bytes(&c, 1) : read_uleb(&c);
	if (c.bad)
		return false;
	if (*augmentation == 'z') {
		uint64_t size = read_uleb(&c);

		if (c.bad || size > (uint64_t)(c.end - c.p))
			return false;
		data_end = c.p + size;
		cie->has_sizes = true;
		augmentation++;
	}
	for (; *augmentation; augmentation++) {
		uint64_t encoding;

		switch (*augmentation) {
		case 'R':
			cie->pointer_encoding = (uint8_t)read_bytes(&c, 1);
			break;
		case 'P':
			encoding = read_bytes(&c, 1);
			if (encoding != PE_OMIT)
				read_pointer(&c, encoding & 0x0f, NULL);
			break;
		case 'L':
			read_bytes(&c, 1);
			break;
		case 'S':
			cie->signal_frame = true;
			break;
		case 'B':
			break;
		default:
			if (!data_end)
				return false;
			goto skip;
		}
	}
skip:
	if (data_end)
		c.p = data_end;
	cie->program = c;
	return !c.bad;
}

/* The head of the FDE at `address`: what code it describes. */
static bool read_range(const struct cfi_image *image, uint64_t address, struct cfi_cie *cie,
		       struct cfi_cursor *c, uint64_t *ret_start, uint64_t *ret_size)
{
	uint64_t id_at, id;

	if (!cursor_at(c, image, address) || !enter_record(c))
		return false;
	id_at = (uint64_t)c->p;
	id = read_bytes(c, 4);
	if (c->bad || !id || !read_cie(image, id_at - id, cie))
		return false;
	*ret_start = read_pointer(c, cie->pointer_encoding & 0x7f, NULL);
	*ret_size = read_pointer(c, cie->pointer_encoding & 0x0f, NULL);
	return !c->bad;
}

/* Parses the FDE at `address`; true if it describes pc. */
static bool read_fde(const struct cfi_image *image, uint64_t address, uint64_t pc,
		     struct cfi_cie *cie, struct cfi_cursor *ret_program, uint64_t *ret_start)
{
	struct cfi_cursor c;
	uint64_t start, size;

	if (!read_range(image, address, cie, &c, &start, &size) || pc < start || pc - start >= size)
		return false;
	if (cie->has_sizes) {
		uint64_t skip = read_uleb(&c);

		if (c.bad || skip > (uint64_t)(c.end - c.p))
			return false;
		c.p += skip;
	}
	*ret_program = c;
	*ret_start = start;
	return true;
}

/* Binary search in the table that the linker made; entries are pairs of 32-bit offsets. */
static bool search_table(const struct cfi_image *image, struct cfi_cursor c, uint64_t count,
			 uint64_t pc, uint64_t *ret_fde)
{
	const uint8_t *base = image->eh_frame_hdr, *table = c.p;
	uint64_t low = 0, high = count;

	if (count > (uint64_t)(c.end - c.p) / 8)
		return false;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		struct cfi_cursor entry = { table + middle * 8, c.end, false };
		uint64_t start = (uint64_t)base + (uint64_t)(int32_t)read_bytes(&entry, 4);

		if (start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	c.p = table + (low - 1) * 8 + 4;
	*ret_fde = (uint64_t)base + (uint64_t)(int32_t)read_bytes(&c, 4);
	return true;
}

/* One record after the other. */
static bool search_records(const struct cfi_image *image, uint64_t at, uint64_t pc,
			   struct cfi_cie *cie, struct cfi_cursor *ret_program, uint64_t *ret_start)
{
	struct cfi_cursor c;

	while (cursor_at(&c, image, at) && enter_record(&c)) {
		if (read_fde(image, at, pc, cie, ret_program, ret_start))
			return true;
		at = (uint64_t)c.end;
	}
	return false;
}

#define SPAN_MAX (64ull << 20)

/* Makes sure that the image reaches to `to`, page by page. */
static bool extend(struct cfi_image *image, const uint8_t *to, bool (*readable)(const void *p))
{
	while (image->high < to) {
		const uint8_t *next = image->high;

		if (next - image->low > (int64_t)SPAN_MAX || !readable(next))
			return false;
		image->high = next + ARCH_PAGE;
	}
	return true;
}

bool cfi_span(const uint8_t *frames, bool (*readable)(const void *p), struct cfi_scratch *s,
	      struct cfi_span *ret_span)
{
	struct cfi_image image = { .low = frames, .high = frames - (uint64_t)frames % ARCH_PAGE };
	struct cfi_span span = { .end = frames, .low = UINT64_MAX };
	struct cfi_cursor c;

	while (extend(&image, span.end + 12, readable) &&
	       cursor_at(&c, &image, (uint64_t)span.end)) {
		uint64_t size = read_bytes(&c, 4), start, length;
		const uint8_t *at = span.end;

		if (!size || size == 0xffffffff || size > SPAN_MAX ||
		    !extend(&image, c.p + size, readable))
			break;
		span.end = c.p + size;
		if (!read_range(&image, (uint64_t)at, &s->cie, &c, &start, &length) || !length)
			continue;
		span.low = start < span.low ? start : span.low;
		span.high = start + length > span.high ? start + length : span.high;
	}
	*ret_span = span;
	return span.high > span.low;
}

/* Finds the FDE of pc: by the table, or by going through .eh_frame where there is none. */
static bool find_fde(const struct cfi_image *image, uint64_t pc, struct cfi_cie *cie,
		     struct cfi_cursor *ret_program, uint64_t *ret_start)
{
	struct cfi_cursor c;
	uint64_t frame_encoding, count_encoding, table_encoding, frames, count, fde;

	if (!image->eh_frame_hdr)
		return search_records(image, (uint64_t)image->frames, pc, cie, ret_program,
				      ret_start);
	if (!cursor_at(&c, image, (uint64_t)image->eh_frame_hdr) || read_bytes(&c, 1) != 1)
		return false;
	frame_encoding = read_bytes(&c, 1);
	count_encoding = read_bytes(&c, 1);
	table_encoding = read_bytes(&c, 1);
	frames = read_pointer(&c, (unsigned)frame_encoding, image->eh_frame_hdr);
	if (count_encoding != PE_OMIT && table_encoding == (PE_DATAREL | PE_SDATA4)) {
		count = read_pointer(&c, (unsigned)count_encoding, image->eh_frame_hdr);
		return !c.bad && search_table(image, c, count, pc, &fde) &&
		       read_fde(image, fde, pc, cie, ret_program, ret_start);
	}
	return !c.bad && search_records(image, frames, pc, cie, ret_program, ret_start);
}

enum where { WHERE_SAME, WHERE_OFFSET, WHERE_EXPRESSION, WHERE_UNDEFINED, WHERE_OTHER };

/* An offset that does not fit becomes one that no rule accepts. */
static int32_t narrow(int64_t offset)
{
	return offset > INT32_MAX || offset < INT32_MIN ? 1 : (int32_t)offset;
}

/* The numbers of a register: the two columns that are kept, or nothing. */
static void set_column(struct cfi_row *row, uint64_t reg, uint64_t ra, enum where where,
		       int64_t offset, const uint8_t *expression)
{
	if (reg == REGISTER_FP) {
		row->fp = (uint8_t)where;
		row->fp_offset = narrow(offset);
		row->fp_expression = expression;
	} else if (reg == ra) {
		row->ra = (uint8_t)where;
		row->ra_offset = narrow(offset);
	}
}

static void restore_column(struct cfi_row *row, uint64_t reg, uint64_t ra,
			   const struct cfi_row *initial)
{
	if (reg == REGISTER_FP) {
		row->fp = initial->fp;
		row->fp_offset = initial->fp_offset;
		row->fp_expression = initial->fp_expression;
	} else if (reg == ra) {
		row->ra = initial->ra;
		row->ra_offset = initial->ra_offset;
	}
}

static const uint8_t *skip_block(struct cfi_cursor *c)
{
	uint64_t size = read_uleb(c);
	const uint8_t *block = c->p;

	if (c->bad || size > (uint64_t)(c->end - c->p)) {
		c->bad = true;
		return NULL;
	}
	c->p += size;
	return block;
}

/* The bytes may ask for anything; what overflows makes no rule. */
static int64_t scaled(int64_t factor, int64_t by)
{
	int64_t product;

	return __builtin_mul_overflow(factor, by, &product) ? INT64_MAX : product;
}

/* Runs a program on the row until the location passes pc.  DW_CFA_restore goes back to the
 * initial row. */
static bool run_program(struct cfi_cursor *c, struct cfi_scratch *s, uint64_t location, uint64_t pc)
{
	const struct cfi_cie *cie = &s->cie;
	struct cfi_row *row = &s->row, *initial = &s->initial;
	unsigned depth = 0;
	uint64_t ra = cie->ra_register, reg, delta;

	while (!c->bad && c->p < c->end) {
		unsigned op = (unsigned)read_bytes(c, 1), low = op & 0x3f;

		switch (op & 0xc0) {
		case 0x40: /* DW_CFA_advance_loc */
			delta = low;
			goto advance;
		case 0x80: /* DW_CFA_offset */
			set_column(row, low, ra, WHERE_OFFSET,
				   scaled((int64_t)read_uleb(c), cie->data_align), NULL);
			continue;
		case 0xc0: /* DW_CFA_restore */
			restore_column(row, low, ra, initial);
			continue;
		}
		switch (op) {
		case 0x00: /* DW_CFA_nop */
			break;
		case 0x01: /* DW_CFA_set_loc */
			location = read_pointer(c, cie->pointer_encoding & 0x7f, NULL);
			if (location > pc)
				return !c->bad;
			break;
		case 0x02: /* DW_CFA_advance_loc1 */
			delta = read_bytes(c, 1);
			goto advance;
		case 0x03:
			delta = read_bytes(c, 2);
			goto advance;
		case 0x04:
			delta = read_bytes(c, 4);
		advance:
			location += delta * cie->code_align;
			if (location > pc)
				return !c->bad;
			break;
		case 0x05: /* DW_CFA_offset_extended */
			reg = read_uleb(c);
			set_column(row, reg, ra, WHERE_OFFSET,
				   scaled((int64_t)read_uleb(c), cie->data_align), NULL);
			break;
		case 0x06: /* DW_CFA_restore_extended */
			restore_column(row, read_uleb(c), ra, initial);
			break;
		case 0x07: /* DW_CFA_undefined */
			set_column(row, read_uleb(c), ra, WHERE_UNDEFINED, 0, NULL);
			break;
		case 0x08: /* DW_CFA_same_value */
			set_column(row, read_uleb(c), ra, WHERE_SAME, 0, NULL);
			break;
		case 0x09: /* DW_CFA_register */
			reg = read_uleb(c);
			read_uleb(c);
			set_column(row, reg, ra, WHERE_OTHER, 0, NULL);
			break;
		case 0x0a: /* DW_CFA_remember_state */
			if (depth == CFI_REMEMBERED)
				return false;
			s->remembered[depth++] = *row;
			break;
		case 0x0b: /* DW_CFA_restore_state */
			if (!depth)
				return false;
			*row = s->remembered[--depth];
			break;
		case 0x0c: /* DW_CFA_def_cfa */
			reg = read_uleb(c);
			row->cfa_register = reg > 255 ? 255 : (uint8_t)reg;
			row->cfa_offset = narrow((int64_t)read_uleb(c));
			row->cfa_expression = NULL;
			break;
		case 0x0d: /* DW_CFA_def_cfa_register */
			reg = read_uleb(c);
			row->cfa_register = reg > 255 ? 255 : (uint8_t)reg;
			row->cfa_expression = NULL;
			break;
		case 0x0e: /* DW_CFA_def_cfa_offset */
			row->cfa_offset = narrow((int64_t)read_uleb(c));
			break;
		case 0x0f: /* DW_CFA_def_cfa_expression */
			row->cfa_expression = c->p;
			skip_block(c);
			break;
		case 0x10: /* DW_CFA_expression */
			reg = read_uleb(c);
			{
				const uint8_t *at = c->p;

				skip_block(c);
				set_column(row, reg, ra, WHERE_EXPRESSION, 0, at);
			}
			break;
		case 0x11: /* DW_CFA_offset_extended_sf */
			reg = read_uleb(c);
			set_column(row, reg, ra, WHERE_OFFSET,
				   scaled(read_sleb(c), cie->data_align), NULL);
			break;
		case 0x12: /* DW_CFA_def_cfa_sf */
			reg = read_uleb(c);
			row->cfa_register = reg > 255 ? 255 : (uint8_t)reg;
			row->cfa_offset = narrow(scaled(read_sleb(c), cie->data_align));
			row->cfa_expression = NULL;
			break;
		case 0x13: /* DW_CFA_def_cfa_offset_sf */
			row->cfa_offset = narrow(scaled(read_sleb(c), cie->data_align));
			break;
		case 0x14: /* DW_CFA_val_offset */
		case 0x15: /* DW_CFA_val_offset_sf */
			reg = read_uleb(c);
			read_uleb(c);
			set_column(row, reg, ra, WHERE_OTHER, 0, NULL);
			break;
		case 0x16: /* DW_CFA_val_expression */
			reg = read_uleb(c);
			skip_block(c);
			set_column(row, reg, ra, WHERE_OTHER, 0, NULL);
			break;
		case 0x2d: /* DW_CFA_..._negate_ra_state: the walker looks at the word */
			if (!ARCH_LINK_REGISTER)
				return false;
			break;
		case 0x2e: /* DW_CFA_GNU_args_size */
			read_uleb(c);
			break;
		case 0x2f: /* DW_CFA_GNU_negative_offset_extended */
			reg = read_uleb(c);
			set_column(row, reg, ra, WHERE_OFFSET,
				   scaled((int64_t)(0 - read_uleb(c)), cie->data_align), NULL);
			break;
		default:
			return false;
		}
	}
	return !c->bad;
}

/* Is the block at p exactly "frame register + offset", with or without a load from there?  That
 * is what compilers write for a realigned stack. */
static bool fp_expression(const struct cfi_image *image, const uint8_t *p, bool load,
			  int64_t *ret_offset)
{
	struct cfi_cursor c = { p, image->high, false };
	uint64_t size = read_uleb(&c);

	if (c.bad || size > (uint64_t)(c.end - c.p))
		return false;
	c.end = c.p + size;
	if (read_bytes(&c, 1) != 0x70 + REGISTER_FP) /* DW_OP_breg */
		return false;
	*ret_offset = read_sleb(&c);
	if (load && read_bytes(&c, 1) != 0x06) /* DW_OP_deref */
		return false;
	return !c.bad && c.p == c.end;
}

/* Where functions save the return address themselves: mostly beside the frame register. RULE_BROKEN
 * if it is where no rule says. */
static unwind_rule with_saved_return(unwind_rule rule, const struct cfi_row *row, int64_t saved)
{
	bool beside = saved > 8 && row->ra_offset == 8 - saved;

	if (beside && saved / 8 <= RULE_SAVED_MAX)
		return rule_with_return(rule, ARCH_RETURN_MAX + 1);
	/* A frame of that size is set up with the frame register at its lower end. */
	if (beside && !(saved & 7) && saved / 8 <= RULE_OFFSET_MAX)
		return rule_make(RULE_RECORD, saved / 8, 0);
	if (row->ra_offset >= 0 || row->ra_offset < 8 * -ARCH_RETURN_MAX ||
	    saved / 8 > RULE_SAVED_MAX)
		return rule_make(RULE_BROKEN, 0, 0);
	return rule_with_return(rule, (uint64_t)-row->ra_offset / 8);
}

/* The return address is still in its register. */
static unwind_rule with_link_register(const struct cfi_row *row)
{
	int64_t saved = row->fp == WHERE_OFFSET ? -(int64_t)row->fp_offset : 0;
	bool by_fp = row->cfa_register == REGISTER_FP;

	if ((row->fp != WHERE_SAME && saved <= 0) || saved & 7 || saved / 8 > RULE_SAVED_MAX ||
	    row->cfa_expression || (!by_fp && row->cfa_register != REGISTER_SP) ||
	    row->cfa_offset & 7 || row->cfa_offset < 0 || row->cfa_offset / 8 > RULE_OFFSET_MAX)
		return rule_make(RULE_BROKEN, 0, 0);
	return rule_make(by_fp ? RULE_LINK_FP : RULE_LINK, row->cfa_offset / 8,
			 (uint64_t)saved / 8);
}

static unwind_rule rule_of(const struct cfi_image *image, const struct cfi_row *row)
{
	const unwind_rule broken = rule_make(RULE_BROKEN, 0, 0);
	int64_t saved = 0, offset = row->cfa_offset; /* bytes */
	enum unwind_kind kind;

	if (row->ra == WHERE_UNDEFINED)
		return rule_make(RULE_END, 0, 0);
	if (ARCH_LINK_REGISTER && row->ra == WHERE_SAME)
		return with_link_register(row);
	if (row->ra != WHERE_OFFSET || row->ra_offset & 7)
		return broken;
	if (!ARCH_LINK_REGISTER &&
	    (row->ra_offset > 8 * -ARCH_RETURN_MIN || row->ra_offset < 8 * -ARCH_RETURN_MAX))
		return broken;
	if (row->cfa_expression) {
		int64_t at;

		if (!fp_expression(image, row->cfa_expression, true, &offset))
			return broken;
		kind = RULE_FP_DEREF;
		if (row->fp == WHERE_EXPRESSION &&
		    fp_expression(image, row->fp_expression, false, &at) && at == 0)
			saved = 8;
		else if (row->fp != WHERE_SAME)
			return broken;
	} else {
		if (row->cfa_register == REGISTER_SP)
			kind = RULE_SP;
		else if (row->cfa_register == REGISTER_FP)
			kind = RULE_FP;
		else
			return broken;
		if (row->fp == WHERE_OFFSET)
			saved = -row->fp_offset;
		else if (row->fp != WHERE_SAME && row->fp != WHERE_UNDEFINED)
			return broken;
	}
	if (offset & 7 || offset / 8 > RULE_OFFSET_MAX || offset / 8 < -RULE_OFFSET_MAX)
		return broken;
	if (saved & 7 || saved < 0)
		return broken;
	if (ARCH_LINK_REGISTER)
		return with_saved_return(rule_make(kind, offset / 8, (uint64_t)saved / 8), row,
					 saved);
	if (saved / 8 > RULE_SAVED_MAX)
		return broken;
	return rule_with_return(rule_make(kind, offset / 8, (uint64_t)saved / 8),
				(uint64_t)-row->ra_offset / 8);
}

unwind_rule cfi_rule(const struct cfi_image *image, uint64_t address, struct cfi_scratch *s)
{
	uint64_t start;

	if ((!image->eh_frame_hdr && !image->frames) ||
	    !find_fde(image, address, &s->cie, &s->program, &start))
		return rule_make(RULE_GUESS, 2, 2);
	if (s->cie.signal_frame)
		return rule_make(RULE_SIGNAL, 0, 0);
	s->row = s->initial =
		(struct cfi_row){ .ra = ARCH_LINK_REGISTER ? WHERE_SAME : WHERE_OTHER };
	if (!run_program(&s->cie.program, s, start, UINT64_MAX))
		return rule_make(RULE_BROKEN, 0, 0);
	s->initial = s->row;
	if (!run_program(&s->program, s, start, address))
		return rule_make(RULE_BROKEN, 0, 0);
	return rule_of(image, &s->row);
}
