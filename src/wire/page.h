/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Addresses and sizes in whole pages of the system. */
#include "wire/arch.h"

static inline uint64_t page_down(uint64_t v)
{
	return v & ~(arch_page() - 1);
}

static inline uint64_t page_up(uint64_t v)
{
	return page_down(v + arch_page() - 1);
}
