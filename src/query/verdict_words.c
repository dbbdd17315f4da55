/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Why a verdict is what it is, in words.  See verdict.h. */
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "query/verdict.h"

void verdict_evidence(struct buf *out, const struct verdict *v, uint64_t run_ns)
{
	struct human a, b, c;

	switch (v->class) {
	case VERDICT_GROWING:
		/* A line through few points, or through a saw, may even fall. */
		if (v->bytes_per_second > 0)
			buf_printf(out, "%s/s", human_size(&a, (uint64_t)v->bytes_per_second));
		else
			buf_text(out, "unsteadily");
		buf_printf(out, " since %s", human_duration(&b, v->first_ns));
		if (v->bytes_per_block > 0)
			buf_printf(out, ", %s a block",
				   human_size(&c, (uint64_t)(v->bytes_per_block + 0.5)));
		buf_printf(out, "; a straight line fits to %.0f %%", v->fit * 100);
		break;
	case VERDICT_UNCLEAR:
		if (!v->kept_count) {
			buf_text(out, "all of it came as the program ended; record a longer run");
			break;
		}
		buf_printf(out, "grew until %s (%.0f %% of the run)",
			   human_duration(&a, v->grown_ns), v->grown_share * 100);
		buf_printf(out, ", in %s step%s, %.0f %% of it in the last third",
			   human_count(&b, v->steps), v->steps == 1 ? "" : "s",
			   v->late_share * 100);
		buf_text(out, "; record twice as much of the same work and look again");
		break;
	case VERDICT_BOUNDED:
		if (v->level) {
			buf_printf(out,
				   "goes up and down, at the end no higher than before; "
				   "never more than %s",
				   human_size(&c, v->most_bytes));
			break;
		}
		buf_printf(out, "grew until %s (%.0f %% of the run)",
			   human_duration(&a, v->grown_ns), v->grown_share * 100);
		buf_printf(out, ", %s allocation%s since; never more than %s",
			   human_count(&b, v->later_count), v->later_count == 1 ? "" : "s",
			   human_size(&c, v->most_bytes));
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
	case VERDICTS:
		break;
	}
}

void verdict_json(struct json *j, const struct verdict *v, uint64_t run_ns)
{
	struct buf text = { 0 };

	verdict_evidence(&text, v, run_ns);
	json_text(j, "class", verdict_rows[v->class].name);
	json_real(j, "confidence", v->confidence, 2);
	json_text(j, "evidence", text.data);
	json_bool(j, "freed_at_exit", v->freed_at_exit);
	json_number(j, "leaked_bytes", v->leaked_bytes);
	json_number(j, "leaked_count", v->leaked_count);
	json_number(j, "kept_bytes", v->kept_bytes);
	json_number(j, "kept_count", v->kept_count);
	json_number(j, "most_bytes", v->most_bytes);
	json_number(j, "allocated_count", v->allocated_count);
	json_number(j, "first_ns", v->first_ns);
	json_number(j, "grown_ns", v->grown_ns);
	json_real(j, "grown_share", v->grown_share, 4);
	json_real(j, "fit", v->fit, 4);
	json_real(j, "bytes_per_second", v->bytes_per_second, 1);
	json_real(j, "bytes_per_allocation", v->bytes_per_allocation, 3);
	json_real(j, "bytes_per_block", v->bytes_per_block, 1);
	json_real(j, "late_share", v->late_share, 4);
	json_number(j, "steps", v->steps);
	json_number(j, "drops", v->drops);
	json_number(j, "later_count", v->later_count);
	buf_release(&text);
}
