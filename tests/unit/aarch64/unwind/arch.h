/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For tests and fuzzers of AArch64's rules that run on any processor: found before the build's. */
#include "unwind/aarch64/arch.h"
