/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* speedscope's own JSON: four profiles, leaked, peak, allocated and temporary, in bytes.
 *
 * A sample is a list of frames, outermost first; the frames follow the profiles, when all are
 * known. */
#include <inttypes.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/json.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "export/functions.h"
#include "query/weigh.h"

static const struct {
	enum measure measure;
	const char *name;
} profiles[] = {
	{ MEASURE_LEAKED, "leaked" },
	{ MEASURE_PEAK, "peak" },
	{ MEASURE_ALLOCATED, "allocated" },
	{ MEASURE_TEMPORARY, "temporary" },
};
#define PROFILES (sizeof(profiles) / sizeof(profiles[0]))

struct speedscope {
	const struct export *x;
	struct sink *out;
	struct json j;
	struct functions functions;
	struct stack_frames frames;
};

static uint64_t weight_of(const struct export *x, const struct stack_weight *w)
{
	return x->by_count ? w->weight.count : w->weight.bytes;
}

static void put_sample(struct speedscope *s, const struct stack_weight *w)
{
	static const struct stack_frame none = { .address = UINT64_MAX };

	stack_frames_of(&s->frames, s->x->view, w->stack);
	json_array(&s->j, NULL);
	for (size_t i = s->frames.count; i-- > 0;)
		json_number(&s->j, NULL, functions_id(&s->functions, &s->frames.rows[i]));
	if (!s->frames.count)
		json_number(&s->j, NULL, functions_id(&s->functions, &none));
	json_end_array(&s->j);
}

/* Weights of nothing are dropped by the reader, and samples with them. */
static void put_profile(struct speedscope *s, enum measure measure, const char *name,
			unsigned number)
{
	const struct view *v = s->x->view;
	struct measuring how = measuring_of(v->model, measure, 0);
	auto_release(stack_weights_release) struct stack_weights weights = { 0 };
	uint64_t total = 0;

	weigh_stacks(&weights, v, &how, false);
	for (uint32_t i = 0; i < weights.count; i++)
		total += weight_of(s->x, &weights.rows[i]);
	json_object(&s->j, NULL);
	json_text(&s->j, "type", "sampled");
	json_text(&s->j, "name", name);
	json_text(&s->j, "unit", s->x->by_count ? "none" : "bytes");
	json_number(&s->j, "startValue", 0);
	json_number(&s->j, "endValue", total);
	json_array(&s->j, "samples");
	for (uint32_t i = 0; i < weights.count && !sink_turn(s->out); i++) {
		if (weight_of(s->x, &weights.rows[i]))
			put_sample(s, &weights.rows[i]);
		export_progress(s->x, (uint64_t)number * weights.count + i,
				PROFILES * weights.count);
	}
	json_end_array(&s->j);
	json_array(&s->j, "weights");
	for (uint32_t i = 0; i < weights.count && !sink_turn(s->out); i++)
		if (weight_of(s->x, &weights.rows[i]))
			json_number(&s->j, NULL, weight_of(s->x, &weights.rows[i]));
	json_end_array(&s->j);
	json_end_object(&s->j);
}

static void put_frames(struct speedscope *s)
{
	const struct view *v = s->x->view;
	auto_buf struct buf name = { 0 };

	json_object(&s->j, "shared");
	json_array(&s->j, "frames");
	for (size_t i = 0; i < s->functions.count && !sink_turn(s->out); i++) {
		const struct functions_row *f = &s->functions.rows[i];

		buf_clear(&name);
		if (f->function)
			buf_text(&name, locations_string(v->locations, f->function));
		else if (f->address == UINT64_MAX)
			buf_text(&name, "(no stack)");
		else
			locations_unnamed(v->locations, f->module, f->address, &name);
		json_object(&s->j, NULL);
		json_text(&s->j, "name", name.data);
		if (f->file)
			json_text(&s->j, "file", locations_string(v->locations, f->file));
		json_end_object(&s->j);
	}
	json_end_array(&s->j);
	json_end_object(&s->j);
}

static int write_speedscope(const struct export *x, struct sink *out, struct err *err)
{
	struct speedscope s = { .x = x, .out = out, .j = { .out = &out->buf, .compact = true } };

	json_object(&s.j, NULL);
	json_text(&s.j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_text(&s.j, "exporter", "memoir " MEMOIR_VERSION);
	json_text(&s.j, "name", x->title);
	json_number(&s.j, "activeProfileIndex", 0);
	JSON_EACH(&s.j, "profiles", i, PROFILES)
		put_profile(&s, profiles[i].measure, profiles[i].name, i);
	put_frames(&s);
	json_end_object(&s.j);
	stack_frames_release(&s.frames);
	functions_release(&s.functions);
	return out->error;
}

const struct exporter exporter_speedscope = {
	.name = "speedscope",
	.extension = "speedscope.json",
	.mime = "application/json",
	.viewer = "speedscope.app",
	.help = "flame graphs of what leaked, of the peak, of all and of temporary allocations",
	.write = write_speedscope,
};
