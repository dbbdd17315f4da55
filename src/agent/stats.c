/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* /status and /stats: what the agent and jemalloc say about themselves. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/answer.h"
#include "agent/jemalloc.h"

#define LETTERS "Jgmdablhxe" /* of malloc_stats_print(): 4.0 to 5.3 */

static void json_bool(struct text *out, const char *key, const char *name)
{
	bool value;

	if (!jemalloc_get(name, &value))
		text_printf(out, ",\"%s\":%s", key, value ? "true" : "false");
}

static void json_size(struct text *out, const char *key, const char *name)
{
	size_t value;

	if (!jemalloc_get(name, &value))
		text_printf(out, ",\"%s\":%zu", key, value);
}

void stats_status(struct exchange *x)
{
	struct text *out = &x->out;
	uint64_t epoch = 1;
	uint32_t arenas;

	x->type = "application/json";
	text_printf(out,
		    "{\"memoir\":\"" MEMOIR_VERSION "\",\"pid\":%d,\"program\":", (int)agent.pid);
	text_json(out, agent.program);
	text_printf(out, ",\"address\":");
	text_json(out, agent.address);
	text_printf(out,
		    ",\"uptime_ms\":%lld,\"requests\":%llu,\"refused\":%llu,\"waiting\":%u,"
		    "\"compat\":%s",
		    (long long)(agent_now_ms() - agent.started_ms),
		    (unsigned long long)agent.requests, (unsigned long long)agent.refused,
		    serve_waiting(), agent.compat ? "true" : "false");
	if (!jemalloc_find()) {
		x->status = 503;
		text_str(out, ",\"jemalloc\":null,\"error\":\"no jemalloc in this process\"}\n");
		return;
	}
	text_str(out, ",\"jemalloc\":{\"version\":");
	text_json(out, jemalloc.version);
	text_str(out, ",\"prefix\":");
	text_json(out, jemalloc.prefix);
	text_str(out, ",\"file\":");
	text_json(out, jemalloc.file[0] ? jemalloc.file : agent.program);
	jemalloc_set("epoch", &epoch, sizeof(epoch));
	json_bool(out, "prof", "opt.prof");
	if (jemalloc.prof) {
		json_bool(out, "prof_active", "prof.active");
		json_bool(out, "prof_thread_active_init", "prof.thread_active_init");
		json_bool(out, "prof_gdump", "prof.gdump");
		json_bool(out, "prof_accum", "opt.prof_accum");
		json_size(out, "lg_prof_sample", "prof.lg_sample");
	}
	json_bool(out, "background_thread", "background_thread");
	if (!jemalloc_get("arenas.narenas", &arenas))
		text_printf(out, ",\"narenas\":%u", arenas);
	json_size(out, "allocated", "stats.allocated");
	json_size(out, "active", "stats.active");
	json_size(out, "metadata", "stats.metadata");
	json_size(out, "resident", "stats.resident");
	json_size(out, "mapped", "stats.mapped");
	json_size(out, "retained", "stats.retained");
	text_str(out, "}}\n");
}

static void stats_print_letters(struct exchange *x, const char *letters)
{
	if (!answer_needs_jemalloc(x))
		return;
	x->type = strchr(letters, 'J') ? "application/json" : "text/plain; charset=utf-8";
	jemalloc_print(&x->out, letters);
}

/* The query is the letters, alone or as opts=. */
void stats_print(struct exchange *x)
{
	char letters[64] = "";
	size_t known;

	if (request_param(&x->request, "opts", letters, sizeof(letters)) < 0 ||
	    (!letters[0] && strlen(x->request.query) >= sizeof(letters))) {
		answer_line(x, 400, "these are not option letters");
		return;
	}
	if (!letters[0] && strncmp(x->request.query, "opts=", 5))
		strcpy(letters, x->request.query);
	known = strspn(letters, LETTERS);
	if (letters[known]) {
		answer_line(x, 400, "%s is not an option letter; they are " LETTERS,
			    letters[known] > 0x20 && letters[known] < 0x7f
				    ? (char[]){ letters[known], 0 }
				    : "that");
		return;
	}
	stats_print_letters(x, letters);
}

void stats_json(struct exchange *x)
{
	stats_print_letters(x, "J");
}
