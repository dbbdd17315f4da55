/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The fields and the filter rows.  See filter.h; docs/filters.md and memoir-filters(7) are compared
 * with these tables by a test. */
#include "query/filter.h"

#include "base/nearest.h"
#include "base/order.h"

const struct filter_field filter_fields[] = {
#define NUMBER(id, name, column, json, type, cost, heading, from, value, help)                     \
	{ name, type, FIELD_ROW, ROW_##id, help },
#include "query/fields.def"
#undef NUMBER
	{ "backtrace", ARG_IDS, FIELD_BACKTRACE, SIDE_ALLOCATION, "number of its stack" },
	{ "deallocation_backtrace", ARG_IDS, FIELD_BACKTRACE, SIDE_DEALLOCATION,
	  "number of the stack that freed or reallocated it" },
	{ "backtrace_depth", ARG_COUNT, FIELD_STACK, STACK_DEPTH,
	  "frames of its stack, without inlined ones and the allocating call itself" },
	{ "function", ARG_REGEX, FIELD_FRAME, FRAME_FUNCTION,
	  "name of a function in its stack (demangled where possible)" },
	{ "responsible", ARG_REGEX, FIELD_RESPONSIBLE, FRAME_FUNCTION,
	  "name of its responsible function, the first that is the program's own" },
	{ "source", ARG_REGEX, FIELD_FRAME, FRAME_SOURCE, "path of a source file in its stack" },
	{ "module", ARG_REGEX, FIELD_FRAME, FRAME_MODULE,
	  "path of a program or library in its stack" },
	{ "thread", ARG_THREAD, FIELD_THREAD, SIDE_ALLOCATION, "thread that allocated it" },
	{ "deallocation_thread", ARG_THREAD, FIELD_THREAD, SIDE_DEALLOCATION,
	  "thread that freed or reallocated it" },
	{ "call", ARG_TEXT, FIELD_CALL, SIDE_ALLOCATION, "call that made it: malloc, calloc …" },
	{ "deallocation_call", ARG_TEXT, FIELD_CALL, SIDE_DEALLOCATION,
	  "call that ended it: free, realloc …" },
	{ "group_allocations", ARG_COUNT, FIELD_STACK, STACK_ALLOCATIONS,
	  "allocations of its stack in the whole recording" },
	{ "group_leaked_allocations", ARG_COUNT_OR_PERCENT, FIELD_STACK, STACK_LEAKED,
	  "how many of them were never freed; % of group_allocations" },
	{ "group_interval", ARG_DURATION_OR_PERCENT, FIELD_STACK, STACK_INTERVAL,
	  "from its stack's first allocation to the last; % of the run time" },
	{ "group_size", ARG_SIZE, FIELD_STACK, STACK_SIZE, "bytes that its stack allocated" },
	{ "group_leaked_size", ARG_SIZE, FIELD_STACK, STACK_LEAKED_SIZE,
	  "bytes of its stack that were never freed" },
	{ "group_peak_size", ARG_SIZE, FIELD_STACK, STACK_PEAK_SIZE,
	  "most bytes of its stack that were alive at once" },
	{ "group_max_total_usage_first_seen", ARG_TIME, FIELD_STACK, STACK_PEAK_AT,
	  "when that was reached first" },
	{ "map", ARG_IDS, FIELD_MAP, 0,
	  "number of a memory map that it was in, wholly or in part, while both were there" },
	{ "service", ARG_TEXT, FIELD_ORIGIN, ORIGIN_SERVICE,
	  "what its recording is of: in a fleet, the name that it was pushed with; else the "
	  "program's" },
	{ "host", ARG_TEXT, FIELD_ORIGIN, ORIGIN_HOST, "computer that it was recorded on" },
	{ "build", ARG_TEXT, FIELD_ORIGIN, ORIGIN_BUILD, "build id of the program" },
	{ "release", ARG_TEXT, FIELD_ORIGIN, ORIGIN_RELEASE,
	  "release that it was pushed with to a fleet" },
	{ "command", ARG_TEXT, FIELD_ORIGIN, ORIGIN_COMMAND, "command line of the program" },
	{ "label", ARG_TEXT, FIELD_ORIGIN, ORIGIN_LABEL,
	  "a label that it was pushed with to a fleet: name=value" },
	{ "recording", ARG_TEXT, FIELD_ORIGIN, ORIGIN_RECORDING, "id of its recording" },
	{ "alive_at", ARG_TIME, FIELD_ALIVE, 0,
	  "function, one moment or more: was alive at all of them" },
	{ "leaked", ARG_NONE, FIELD_FLAG, FLAG_LEAKED, "was never freed" },
	{ "chain_leaked", ARG_NONE, FIELD_FLAG, FLAG_CHAIN_LEAKED,
	  "the last block of its realloc chain was never freed" },
	{ "group_leaked", ARG_NONE, FIELD_FLAG, FLAG_GROUP_LEAKED,
	  "nothing that its stack allocated was ever freed" },
	{ "temporary", ARG_NONE, FIELD_FLAG, FLAG_TEMPORARY,
	  "was freed by the very next event of its thread" },
	{ "reallocated", ARG_NONE, FIELD_FLAG, FLAG_REALLOCATED,
	  "a realloc made another block of it" },
	{ "mmapped", ARG_NONE, FIELD_FLAG, FLAG_MMAPPED, "glibc made a mapping for it alone" },
	{ "main_arena", ARG_NONE, FIELD_FLAG, FLAG_MAIN_ARENA, "is from glibc's main arena" },
	{ "other_arena", ARG_NONE, FIELD_FLAG, FLAG_OTHER_ARENA,
	  "is from another of glibc's arenas" },
	{ "jemalloc", ARG_NONE, FIELD_FLAG, FLAG_JEMALLOC, "jemalloc gave it" },
	{ "zeroed", ARG_NONE, FIELD_FLAG, FLAG_ZEROED, "was asked for as zeroes (calloc)" },
	{ "freed_by_other_thread", ARG_NONE, FIELD_FLAG, FLAG_OTHER_THREAD,
	  "another thread freed it than the one that allocated it" },
	{ 0 },
};

const struct filter_row filter_rows[] = {
	{ "filter", ARG_EXPRESSION, "$", "conditions with and, or, not and parentheses" },
	{ "hide", ARG_EXPRESSION, "",
	  "frames that do not lead a row: function, source and module conditions" },
	{ "own", ARG_EXPRESSION, "",
	  "frames that are the program's own, whatever the rules say: the same conditions" },
	{ "from", ARG_TIME, "allocated >= $", "allocated at this time or later" },
	{ "to", ARG_TIME, "allocated <= $", "allocated at this time or earlier" },
	{ "lifetime", ARG_CHOICE,
	  "all: ; only_leaked: leaked; only_not_leaked: not leaked; only_temporary: not leaked; "
	  "only_chain_leaked: chain_leaked; only_not_chain_leaked: not chain_leaked; "
	  "only_whole_group_leaked: group_leaked",
	  "what became of it" },
	{ "lifetime_min", ARG_DURATION_OR_PERCENT, "lifetime >= $", "lived this long or longer" },
	{ "lifetime_max", ARG_DURATION_OR_PERCENT, "lifetime <= $", "lived this long or shorter" },
	{ "temporary", ARG_YES_NO, "temporary; not temporary",
	  "freed by the very next event of its thread?" },
	{ "alive_at", ARG_TIME, "alive_at($)", "was alive at this time" },
	{ "alive_at_2", ARG_TIME, "alive_at($)", "and at this one" },
	{ "deallocated_after", ARG_TIME, "deallocated >= $", "freed at this time or later" },
	{ "deallocated_until", ARG_TIME, "deallocated <= $", "freed at this time or earlier" },
	{ "deallocated_before", ARG_TIME, "deallocated < $", "freed earlier than this" },
	{ "leaked_or_deallocated_after", ARG_TIME, "leaked or deallocated > $",
	  "freed later than this, or never" },
	{ "size_min", ARG_SIZE, "size >= $", "this many bytes or more" },
	{ "size_max", ARG_SIZE, "size <= $", "this many bytes or fewer" },
	{ "size_larger", ARG_SIZE, "size > $", "more bytes than this" },
	{ "size_smaller", ARG_SIZE, "size < $", "fewer bytes than this" },
	{ "usable_size_min", ARG_SIZE, "usable_size >= $", "the allocator gave this much or more" },
	{ "usable_size_max", ARG_SIZE, "usable_size <= $", "the allocator gave this much or less" },
	{ "address_min", ARG_ADDRESS, "address >= $", "at this address or above" },
	{ "address_max", ARG_ADDRESS, "address <= $", "at this address or below" },
	{ "first_size_min", ARG_SIZE, "first_size >= $",
	  "its realloc chain began so large or larger" },
	{ "first_size_max", ARG_SIZE, "first_size <= $", "… so small or smaller" },
	{ "first_size_larger", ARG_SIZE, "first_size > $", "… larger than this" },
	{ "first_size_smaller", ARG_SIZE, "first_size < $", "… smaller than this" },
	{ "last_size_min", ARG_SIZE, "last_size >= $",
	  "its realloc chain ended so large or larger" },
	{ "last_size_max", ARG_SIZE, "last_size <= $", "… so small or smaller" },
	{ "last_size_larger", ARG_SIZE, "last_size > $", "… larger than this" },
	{ "last_size_smaller", ARG_SIZE, "last_size < $", "… smaller than this" },
	{ "chain_length_min", ARG_COUNT, "chain_length >= $",
	  "so many blocks in its realloc chain or more" },
	{ "chain_length_max", ARG_COUNT, "chain_length <= $", "so many or fewer" },
	{ "chain_lifetime_min", ARG_DURATION_OR_PERCENT, "chain_lifetime >= $",
	  "its realloc chain lived this long or longer" },
	{ "chain_lifetime_max", ARG_DURATION_OR_PERCENT, "chain_lifetime <= $",
	  "… this long or shorter" },
	{ "position_in_chain_min", ARG_COUNT, "position_in_chain >= $",
	  "at this place of its realloc chain or later; the first is 0" },
	{ "position_in_chain_max", ARG_COUNT, "position_in_chain <= $", "… or earlier" },
	{ "backtraces", ARG_IDS, "backtrace = $", "allocated by one of these stacks" },
	{ "not_backtraces", ARG_IDS, "backtrace != $", "allocated by none of these stacks" },
	{ "deallocation_backtraces", ARG_IDS, "deallocation_backtrace = $",
	  "freed by one of these stacks" },
	{ "not_deallocation_backtraces", ARG_IDS, "deallocation_backtrace != $",
	  "not freed by one of these stacks" },
	{ "backtrace_depth_min", ARG_COUNT, "backtrace_depth >= $",
	  "so many frames in its stack or more" },
	{ "backtrace_depth_max", ARG_COUNT, "backtrace_depth <= $", "so many or fewer" },
	{ "function_regex", ARG_REGEX, "function ~ $",
	  "a frame's function matches (the same frame as for the next two)", true },
	{ "source_regex", ARG_REGEX, "source ~ $", "… its source path matches", true },
	{ "module_regex", ARG_REGEX, "module ~ $", "… its program's or library's path matches",
	  true },
	{ "negative_function_regex", ARG_REGEX, "function !~ $", "no frame's function matches" },
	{ "negative_source_regex", ARG_REGEX, "source !~ $", "no frame's source path matches" },
	{ "negative_module_regex", ARG_REGEX, "module !~ $",
	  "no frame's program or library matches" },
	{ "thread", ARG_THREAD, "thread = $", "allocated by this thread" },
	{ "deallocation_thread", ARG_THREAD, "deallocation_thread = $",
	  "freed or reallocated by this thread" },
	{ "call", ARG_TEXT, "call = $", "made by this call: malloc, calloc, operator new …" },
	{ "deallocation_call", ARG_TEXT, "deallocation_call = $", "ended by this call" },
	{ "marker", ARG_NUMBER, "marker = $", "allocated while this marker was the last one set" },
	{ "from_map", ARG_IDS, "map = $", "in one of these memory maps (memoir maps)" },
	{ "zeroed", ARG_YES_NO, "zeroed; not zeroed", "asked for as zeroes?" },
	{ "mmaped", ARG_YES_NO, "mmapped; (main_arena or other_arena) and not mmapped",
	  "from glibc: a mapping of its own?" },
	{ "arena", ARG_CHOICE, "main: main_arena; non_main: other_arena",
	  "from glibc: which arena" },
	{ "jemalloc", ARG_YES_NO, "jemalloc; not jemalloc", "from jemalloc?" },
	{ "group_allocations_min", ARG_COUNT, "group_allocations >= $",
	  "its stack allocated so often or more" },
	{ "group_allocations_max", ARG_COUNT, "group_allocations <= $", "so often or less" },
	{ "group_leaked_allocations_min", ARG_COUNT_OR_PERCENT, "group_leaked_allocations >= $",
	  "so many (or so many %) of its stack's were never freed, or more" },
	{ "group_leaked_allocations_max", ARG_COUNT_OR_PERCENT, "group_leaked_allocations <= $",
	  "… or fewer" },
	{ "group_interval_min", ARG_DURATION_OR_PERCENT, "group_interval >= $",
	  "its stack allocated over so long a time (or % of the run) or longer" },
	{ "group_interval_max", ARG_DURATION_OR_PERCENT, "group_interval <= $", "… or shorter" },
	{ "group_max_total_usage_first_seen_min", ARG_TIME, "group_max_total_usage_first_seen >= $",
	  "its stack had most alive at this time or later" },
	{ "group_max_total_usage_first_seen_max", ARG_TIME, "group_max_total_usage_first_seen <= $",
	  "… or earlier" },
	{ 0 },
};

const struct filter_field *filter_field_find(const char *name)
{
	return FIND_ROW(f, filter_fields, nearest_same(name, f->name));
}

const struct filter_row *filter_row_find(const char *name)
{
	return FIND_ROW(r, filter_rows, nearest_same(name, r->name));
}

const char *filter_nearest(const char *name)
{
	struct nearest n = nearest_to(name);

	for (const struct filter_field *f = filter_fields; f->name; f++)
		nearest_consider(&n, f->name);
	for (const struct filter_row *r = filter_rows; r->name; r++)
		nearest_consider(&n, r->name);
	return nearest_found(&n);
}
