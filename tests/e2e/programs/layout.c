/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* layout [LIBRARY]: allocates from functions with known names.  With a library that has a gap
 * between its segments: code is put into the gap and allocates there, then the library does. */
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include "say.h"

NOINLINE void *layout_inner(size_t size)
{
	void *p = malloc(size);

	KEEP(p);
	return p;
}

NOINLINE void *layout_outer(size_t size)
{
	void *p = layout_inner(size);

	KEEP(p);
	return p;
}

#ifndef LIBRARY
static int find_gap(struct dl_phdr_info *info, size_t size, void *context)
{
	uint64_t end = 0, **ret_gap = context;

	if (!strstr(info->dlpi_name, "layout_library"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uint64_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr & ~4095ull;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		if (end && start > end)
			*ret_gap = (uint64_t *)end;
		end = start + (info->dlpi_phdr[i].p_memsz + 8191 & ~4095ull);
	}
	return 1;
}

/* push %rbp; mov %rsp,%rbp; call *%rsi; pop %rbp; ret */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3 };

static NOINLINE void from_gap(void)
{
	void *gap = NULL;
	void *(*function)(size_t, void *(*)(size_t));

	dl_iterate_phdr(find_gap, &gap);
	if (!gap || mmap(gap, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != gap)
		fail("no gap");
	memcpy(gap, code, sizeof(code));
	function = (void *(*)(size_t, void *(*)(size_t)))gap;
	KEEP(function(7001, layout_inner));
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

	for (int i = 0; i < 100; i++)
		KEEP(layout_outer(1001));
	if (library) {
		void *(*outer)(size_t) = (void *(*)(size_t))dlsym(library, "layout_outer");

		from_gap();
		for (int i = 0; i < 10; i++)
			KEEP(outer(3001));
	}
	say("done\n");
	return 0;
}
#endif
