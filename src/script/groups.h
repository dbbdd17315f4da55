/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Numbers for filters out of values of scripts: of stacks (groups.c, rows.c) and maps (maps.c).
 * Each adds them with commas between, and returns false where the value is of another class. */
#include "script/list.h"

/* The stacks of a list's allocations. */
void script_put_stacks(lua_State *L, struct script_list *l, struct buf *out);
bool script_put_group_ids(lua_State *L, int index, struct buf *out);
bool script_put_stack_id(lua_State *L, int index, struct buf *out);
bool script_put_map_ids(lua_State *L, int index, struct buf *out);
