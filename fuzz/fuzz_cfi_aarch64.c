/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The same for the rules of AArch64, with what that processor's folder says of return addresses. */
#define FUZZ_WORD cfi_aarch64
#include "fuzz_cfi.c"
