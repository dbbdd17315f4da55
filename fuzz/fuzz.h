/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What fuzz_<name>.c begins its function with.  For libFuzzer it is that program's entry; else it
 * is found by its name, since replay_main.c tries the corpora of many targets. */
#include <stddef.h>
#include <stdint.h>

#ifdef LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ(word, data, size) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
#else
struct fuzz_target {
	const char *name;
	int (*try_input)(const uint8_t *data, size_t size);
	struct fuzz_target *next;
};

void fuzz_register(struct fuzz_target *target);

#define FUZZ(word, data, size)                                                                     \
	static int fuzz_##word(const uint8_t *data, size_t size);                                  \
	__attribute__((constructor)) static void fuzz_register_##word(void)                        \
	{                                                                                          \
		static struct fuzz_target target = { #word, fuzz_##word, NULL };                   \
                                                                                                   \
		fuzz_register(&target);                                                            \
	}                                                                                          \
	static int fuzz_##word(const uint8_t *data, size_t size)
#endif
