/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Who holds the memory of several processes: stacks of all of them, joined by the name of the
 * function that answers for them, since addresses and node numbers are each recording's own. */
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/strings.h"
#include "query/measure.h"
#include "query/view.h"

struct process_holder {
	uint32_t name, module; /* texts of `strings` */
	struct weight weight;
	uint32_t processes; /* that have any of it */
	size_t last, most;  /* members of the folder: the last that was added, the one with most */
	uint64_t here, most_bytes;
};

struct process_holders {
	struct strings strings;
	struct process_holder *rows; /* most bytes first, once sorted */
	size_t count, room;
	struct weight total;
	struct map row_of;
};

void process_holders_init(struct process_holders *h);
/* Adds what a member's view weighs; members come one after the other. */
void process_holders_add(struct process_holders *h, const struct view *v,
			 const struct measuring *how, size_t member);
void process_holders_sort(struct process_holders *h);
void process_holders_release(struct process_holders *h);
