/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Changes that an agent makes.  See controls.h. */
#include "client/controls.h"

#include <string.h>

#include "base/order.h"

#define ONE(param, type, required)                                                                 \
	{                                                                                          \
		{                                                                                  \
			param, type, required                                                      \
		}                                                                                  \
	}
#define SWITCH ONE("value", CONTROL_SWITCH, true)
#define ARENA ONE("arena", CONTROL_NUMBER, false)

const struct control controls[] = {
	{ "prof/active", "prof", SWITCH, "on|off",
	  "profiling (the program must have been started with prof:true)" },
	{ "prof/thread_active_init", "prof-threads", SWITCH, "on|off", "profiling of new threads" },
	{ "prof/reset", "reset", ONE("lg_sample", CONTROL_NUMBER, false), "[LG]",
	  "forgets samples; a sample every 2^LG bytes" },
	{ "prof/rate", "rate", ONE("lg_sample", CONTROL_NUMBER, true), "LG",
	  "the same, with a rate" },
	{ "prof/gdump", "gdump", SWITCH, "on|off", "a dump at each new peak" },
	{ "prof/prefix", "prefix", ONE("value", CONTROL_TEXT, true), "PREFIX",
	  "of dumps that jemalloc names" },
	{ "prof/dump", "dump-there", ONE("path", CONTROL_TEXT, true), "FILE",
	  "a dump that the program writes" },
	{ "prof/recent", "recent-max", ONE("value", CONTROL_NUMBER, true), "N",
	  "keep the last N blocks; -1: all, 0: none" },
	{ "prof/log/start", "log-start", { { 0 } }, "", "begins a log of blocks that are freed" },
	{ "prof/log/stop",
	  "log-stop",
	  { { 0 } },
	  "",
	  "ends it; into a file, for memoir jemalloc log",
	  .file = true },
	{ "purge", "purge", ARENA, "[ARENA]", "gives unused pages back" },
	{ "decay", "decay", ARENA, "[ARENA]", "gives back what is due" },
	{ "dirty_decay_ms",
	  "dirty-decay",
	  { { "value", CONTROL_NUMBER, true }, { "arena", CONTROL_NUMBER, false } },
	  "MS [ARENA]",
	  "of every arena and new ones; -1: never" },
	{ "muzzy_decay_ms",
	  "muzzy-decay",
	  { { "value", CONTROL_NUMBER, true }, { "arena", CONTROL_NUMBER, false } },
	  "MS [ARENA]",
	  "likewise" },
	{ "background_thread", "background", SWITCH, "on|off", "jemalloc's own threads" },
	{ "max_background_threads", "background-max", ONE("value", CONTROL_NUMBER, true), "N",
	  "how many at most" },
	{ "mutexes/reset", "mutex-reset", { { 0 } }, "", "counters of mutexes to 0" },
	{ "mallctl",
	  "set",
	  { { "name", CONTROL_TEXT, true }, { "value", CONTROL_TEXT, false } },
	  "NAME [VALUE]",
	  "sets a mallctl name; without a value: does it" },
	{ 0 },
};

const struct control *controls_find(const char *name)
{
	return FIND_ROW(c, controls, !strcmp(c->name, name));
}

const char *controls_type_name(enum control_type type)
{
	static const char *const names[] = { "text", "number", "switch" };

	return names[type];
}
