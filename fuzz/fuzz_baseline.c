/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Baselines of any bytes: what could be read is written, read and written the same again, and can
 * be compared with itself. */
#include <stdlib.h>
#include <string.h>

#include "base/buf_type.h"
#include "base/xalloc.h"
#include "check/check.h"
#include "fuzz.h"

static void read_again(const struct buf *text)
{
	struct err err = { .text = "" };
	struct buf again = { 0 };
	struct requirement wanted[2];
	struct baseline b;
	struct check c;

	baseline_init(&b);
	if (baseline_read(&b, text->data, text->size, &err))
		abort();
	baseline_write(&b, &again);
	if (again.size != text->size || memcmp(again.data, text->data, again.size) != 0)
		abort();
	for (unsigned i = 0; i < 2; i++)
		if (requirement_growth(&wanted[i], requirement_defaults[i], &err))
			abort();
	check_init(&c, &b, &b, wanted, 2);
	if (!c.holds)
		abort();
	check_release(&c);
	baseline_release(&b);
	buf_release(&again);
}

FUZZ(baseline, data, size)
{
	char *text = xmemdup0(data, size);
	struct err err = { .text = "" };
	struct buf written = { 0 };
	struct baseline b;

	baseline_init(&b);
	if (!baseline_read(&b, text, size, &err)) {
		baseline_write(&b, &written);
		read_again(&written);
	} else if (!*err.text) {
		abort();
	}
	baseline_release(&b);
	buf_release(&written);
	free(text);
	return 0;
}
