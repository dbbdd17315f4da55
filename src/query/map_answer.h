/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Memory maps as JSON, in the shape of answer.h: for the command line and the server.  Any thread;
 * a list belongs to one at a time while it is written. */
#include "query/answer.h"
#include "query/map_list.h"

struct map_answer {
	const struct map_list *list;
	bool regions, usage_history; /* to be written too */
	struct answer answer;	     /* of the list's own view */
};

void map_answer_init(struct map_answer *a, const struct map_list *l);
void map_answer_release(struct map_answer *a);
/* One map, by its number. */
void map_answer_map(struct map_answer *a, struct json *j, uint32_t map);

/* What all maps of a list together had over time; the recorder's own count only if they are asked
 * for. */
struct map_point {
	uint64_t at; /* stamp */
	uint64_t address_space, rss, anonymous, dirty, clean, swap;
};
/* At most `count` points between the first and the last change, or all changes if there are no more
 * than that; the caller frees *ret_points.  0: all of them. */
size_t map_series(const struct map_list *l, size_t count, struct map_point **ret_points);
/* "xs" (milliseconds since 1970), "address_space", "rss", "anonymous", "dirty", "clean", "swap":
 * an array each. */
void map_answer_timeline(struct map_answer *a, struct json *j, size_t count);
