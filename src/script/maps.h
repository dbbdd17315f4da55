/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Lists of memory maps in scripts. */
#include "query/map_list.h"
#include "script/state.h"

struct script_maps {
	struct script_data *data;
	uint32_t all;	 /* maps that the recording has */
	uint64_t bits[]; /* which of them are in the list */
};

void script_push_map(lua_State *L, struct script_data *d, uint32_t row);
