/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of functions that can be hooked where they are.  See inplace.def. */
#include "wire/inplace.h"
#include "wire/event.h"

const struct inplace_row inplace_rows[] = {
#define SITE(group, name, op, call, pointer, size, count, flags)                                   \
	{ #name, INPLACE_##group, INPLACE_##op, CALL_##call, pointer, size, count, flags },
#include "wire/inplace.def"
#undef SITE
};
const unsigned inplace_row_count = sizeof(inplace_rows) / sizeof(inplace_rows[0]);

_Static_assert(sizeof(inplace_rows) / sizeof(inplace_rows[0]) < 256, "a row's number is a byte");
