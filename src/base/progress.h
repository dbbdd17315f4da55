/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A bar on stderr while something takes long: only on a terminal, only after a moment, and gone
 * without a trace when it is over. */
#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what;
	uint64_t started_ns, shown_ns;
	bool possible, shown;
};

void progress_start(struct progress *p, const char *what);
void progress_update(struct progress *p, uint64_t done, uint64_t total);
void progress_end(struct progress *p);
