/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Small curves: what each of some stacks or threads has alive over the run, in one pass. */
#include <stdint.h>

#include "query/view.h"

#define SPARK_NONE UINT32_MAX

#define SPARK_MAX 200 /* points of a curve that can be asked for */

struct sparks {
	const struct view *view;
	const uint32_t *curve_of; /* by stack, or by thread: its curve, or SPARK_NONE */
	bool by_thread;
	uint32_t curves, points;
	int64_t *values; /* bytes alive at the end of each point's time, curve by curve */
};

/* `view`, `curve_of`, `by_thread`, `curves` and `points` are given. */
void sparks_draw(struct sparks *s);
void sparks_release(struct sparks *s);
