/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question histogram answers. */
#include "query/histogram.h"

struct answer_histogram {
	struct histogram histogram;
	struct measuring measuring;
	uint32_t top; /* single sizes to list */
	bool by_count;
};
