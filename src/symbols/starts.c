/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Beginnings of functions, out of .eh_frame_hdr.  See starts.h. */
#include "symbols/starts.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define SECTION_MAX (256u << 20)
/* How every linker writes it: a version, three encodings, where .eh_frame is, how many rows; then
 * rows of two distances from the section, the first that of the function. */
#define VERSION 1
#define COUNT_ENCODING 0x03 /* udata4 */
#define TABLE_ENCODING 0x3b /* datarel, sdata4 */
#define HEAD_SIZE 12
#define ROW_SIZE 8

static int compare_starts(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void starts_read(struct starts *s, const struct elf_file *f)
{
	const Elf64_Shdr *section = elf_file_section(f, ".eh_frame_hdr");
	uint8_t *content;
	uint32_t count;

	memset(s, 0, sizeof(*s));
	if (!section || section->sh_size < HEAD_SIZE)
		return;
	content = elf_file_content(f, section, SECTION_MAX);
	if (!content)
		return;
	memcpy(&count, content + 8, sizeof(count));
	if (content[0] == VERSION && content[2] == COUNT_ENCODING && content[3] == TABLE_ENCODING &&
	    count <= (section->sh_size - HEAD_SIZE) / ROW_SIZE) {
		s->rows = xcalloc((size_t)count + 1, sizeof(*s->rows));
		for (; s->count < count; s->count++) {
			int32_t distance;

			memcpy(&distance, content + HEAD_SIZE + s->count * ROW_SIZE,
			       sizeof(distance));
			s->rows[s->count] = section->sh_addr + (uint64_t)(int64_t)distance;
		}
		if (count)
			qsort(s->rows, count, sizeof(*s->rows), compare_starts);
	}
	free(content);
}

void starts_release(struct starts *s)
{
	free(s->rows);
	memset(s, 0, sizeof(*s));
}

uint64_t starts_find(const struct starts *s, uint64_t address, uint64_t *ret_next)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->rows[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_next = low < s->count ? s->rows[low] : UINT64_MAX;
	return low ? s->rows[low - 1] : 0;
}
