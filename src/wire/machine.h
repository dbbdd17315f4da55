/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The processor that this is built for, as ELF files number it. */
#include <elf.h>

#if defined(__x86_64__)
#define MACHINE_ELF EM_X86_64
#elif defined(__aarch64__)
#define MACHINE_ELF EM_AARCH64
#else
#error "which machine is this?"
#endif
