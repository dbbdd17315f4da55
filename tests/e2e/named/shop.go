// SPDX-License-Identifier: MIT OR Apache-2.0

// Go that has C hold its data: the C functions are the ones that allocate.
package main

/*
#include <stdlib.h>
#include <string.h>

void *kept[4000];
static unsigned count;

static void shop_names(unsigned n) {
	for (unsigned i = 0; i < n; i++)
		kept[count++] = malloc(40 + i % 50);
}
static void shop_page(unsigned n) {
	kept[count++] = calloc(1, 4096 + n);
}
static void shop_table(unsigned n) {
	kept[count++] = malloc(n * sizeof(void *));
}
*/
import "C"

import "unsafe"

var texts []*C.char

//go:noinline
func readTexts(n int) {
	for i := 0; i < n; i++ {
		texts = append(texts, C.CString("a text that C will have, and this is all of it"))
	}
}

//go:noinline
func takeBlocks(n int) []unsafe.Pointer {
	blocks := []unsafe.Pointer{}
	for i := 0; i < n; i++ {
		blocks = append(blocks, C.malloc(C.size_t(500+i)))
	}
	return blocks
}

func main() {
	C.shop_names(1000)
	for i := 0; i < 50; i++ {
		C.shop_page(C.uint(i))
	}
	C.shop_table(2000)
	readTexts(300)
	println(len(takeBlocks(100)))
}
