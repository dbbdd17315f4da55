// SPDX-License-Identifier: MIT OR Apache-2.0
// Counts the bytes of new blocks that are not zero, for every way to get one.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <malloc.h>
#include <new>

static const size_t sizes[] = { 1, 24, 100, 1000, 5000, 40000, 300000 };

static void dirty(size_t size)
{
	void *blocks[16];

	for (size_t align : { 0, 64, 128, 4096 }) {
		for (void *&b : blocks) {
			b = align ? memalign(align, size) : malloc(size);
			memset(b, 0xa5, size);
			__asm__ volatile("" : : "r"(b) : "memory");
		}
		for (void *b : blocks)
			free(b);
	}
}

static size_t found;

static void look(const void *p, size_t size)
{
	__asm__ volatile("" : : "r"(p) : "memory");
	for (size_t i = 0; i < size; i++)
		found += static_cast<const unsigned char *>(p)[i] != 0;
}

template <typename F> static void check(const char *name, F allocate)
{
	found = 0;
	for (size_t size : sizes) {
		dirty(size);
		void *p = allocate(size);
		look(p, size);
		free(p);
	}
	printf("%s %s\n", name, found ? "dirty" : "zero");
}

int main()
{
	check("malloc", [](size_t n) { return malloc(n); });
	check("calloc", [](size_t n) { return calloc(n, 1); });
	check("realloc", [](size_t n) { return realloc(nullptr, n); });
	check("memalign", [](size_t n) { return memalign(64, n); });
	check("aligned_alloc", [](size_t n) { return aligned_alloc(64, (n + 63) / 64 * 64); });
	check("posix_memalign", [](size_t n) {
		void *p = nullptr;
		return posix_memalign(&p, 4096, n) ? nullptr : p;
	});
	check("new", [](size_t n) { return operator new(n); });
	check("new[]", [](size_t n) { return operator new[](n, std::nothrow); });
	check("aligned new", [](size_t n) { return operator new(n, std::align_val_t(128)); });
	return 0;
}
