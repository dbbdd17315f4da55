/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Why a verdict is what it is, in words.  See verdict.h. */
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "query/known_pools.h"
#include "query/verdict.h"

#define SHORT_RUN_NS 500000000 /* what grows in it may just be what is done once */
#define FIT_SAID 0.8	       /* worse lines say nothing */

/* Of the program's work; what is nearly all of it is not all. */
static int percent_of_work(const struct verdict *v)
{
	return (int)(v->grown_work * 100);
}

/* A line through few points, or through a saw, may even fall. */
bool verdict_is_steady(const struct verdict *v)
{
	return v->bytes_per_second > 0 && v->fit >= FIT_SAID;
}

static void say_growing(struct buf *out, const struct verdict *v, uint64_t run_ns)
{
	bool straight = verdict_is_steady(v);
	struct human a, b, c;

	if (straight)
		buf_printf(out, "%s/s", human_size(&a, (uint64_t)v->bytes_per_second));
	else
		buf_text(out, "unsteadily");
	if (v->rate_is_late)
		buf_text(out, " in the last half of the work");
	else
		buf_printf(out, " since %s", human_duration(&b, v->first_ns));
	if (v->bytes_per_block > 0)
		buf_printf(out, ", %s a block",
			   human_size(&c, (uint64_t)(v->bytes_per_block + 0.5)));
	if (straight)
		buf_printf(out, "; a straight line fits to %d %%", (int)(v->fit * 100 + 0.5));
	else
		buf_printf(out, "; in %s step%s, %.0f %% of it in the last third",
			   human_count(&a, v->steps), v->steps == 1 ? "" : "s",
			   v->late_share * 100);
	if (run_ns < SHORT_RUN_NS)
		buf_printf(out, "; a run of %s shows little", human_duration(&a, run_ns));
}

static void say_unclear(struct buf *out, const struct verdict *v)
{
	struct human a, b;

	if (!v->kept_count) {
		buf_text(out, "all of it came as the program ended; record a longer run");
		return;
	}
	buf_printf(out, "grew until %s (%d %% of the work)", human_duration(&a, v->grown_ns),
		   percent_of_work(v));
	buf_printf(out, ", in %s step%s, %.0f %% of it in the last third",
		   human_count(&b, v->steps), v->steps == 1 ? "" : "s", v->late_share * 100);
	buf_text(out, "; record twice as much of the same work and look again");
}

static void say_bounded(struct buf *out, const struct verdict *v)
{
	struct human a, b, c;

	switch (v->reason) {
	case REASON_LEVEL:
		buf_text(out, "goes up and down, at the end no higher than before");
		break;
	case REASON_SLOWING:
		buf_text(out, "each quarter brought much less than the one before");
		break;
	case REASON_STOPPED:
		buf_printf(out, "grew until %s (%d %% of the work), %s allocation%s since",
			   human_duration(&a, v->grown_ns), percent_of_work(v),
			   human_count(&b, v->later_count), v->later_count == 1 ? "" : "s");
		break;
	}
	buf_printf(out, "; never more than %s", human_size(&c, v->most_bytes));
}

void verdict_evidence(struct buf *out, const struct verdict *v, uint64_t run_ns)
{
	struct human a, b, c;

	switch (v->class) {
	case VERDICT_GROWING:
		say_growing(out, v, run_ns);
		break;
	case VERDICT_UNCLEAR:
		say_unclear(out, v);
		break;
	case VERDICT_BOUNDED:
		say_bounded(out, v);
		break;
	case VERDICT_SAWTOOTH:
		buf_printf(out, "emptied %s times, from %s at most", human_count(&a, v->drops),
			   human_size(&b, v->most_bytes));
		break;
	case VERDICT_START_UP:
		buf_printf(out, "all within the first %s of %s", human_duration(&a, v->grown_ns),
			   human_duration(&c, run_ns));
		buf_printf(out, ", %s allocation%s since", human_count(&b, v->later_count),
			   v->later_count == 1 ? "" : "s");
		break;
	case VERDICT_POOL:
		buf_printf(out, "kept on purpose: %s", v->known->reason);
		break;
	case VERDICTS:
		break;
	}
}

static const char *const reasons[] = {
	[REASON_STOPPED] = "stopped",
	[REASON_LEVEL] = "level",
	[REASON_SLOWING] = "slowing",
};

void verdict_json(struct json *j, const struct verdict *v, uint64_t run_ns)
{
	auto_buf struct buf text = { 0 };

	verdict_evidence(&text, v, run_ns);
	json_text(j, "class", verdict_rows[v->class].name);
	json_real(j, "confidence", v->confidence, 2);
	json_text(j, "evidence", text.data);
	json_bool(j, "matters", v->matters);
	if (v->class == VERDICT_BOUNDED)
		json_text(j, "reason", reasons[v->reason]);
	if (v->known)
		json_text(j, "pool", v->known->reason);
	JSON_MEMBERS(j, v, stacks, freed_at_exit, leaked_bytes, leaked_count, kept_bytes,
		     kept_count, most_bytes, allocated_count, first_ns, grown_ns);
	json_real(j, "grown_share", v->grown_share, 4);
	json_real(j, "grown_work", v->grown_work, 4);
	json_real(j, "fit", v->fit, 4);
	json_real(j, "bytes_per_second", v->bytes_per_second, 1);
	json_real(j, "bytes_per_allocation", v->bytes_per_allocation, 3);
	json_real(j, "bytes_per_block", v->bytes_per_block, 1);
	JSON_MEMBERS(j, v, late_bytes, rate_is_late);
	json_real(j, "late_share", v->late_share, 4);
	JSON_MEMBERS(j, v, steps, drops, later_count);
}
