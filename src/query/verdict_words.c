/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Why a verdict is what it is, in words.  See verdict.h. */
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
		if (v->bytes_per_allocation > 0)
			buf_printf(out, ", %s per allocation",
				   human_size(&c, (uint64_t)(v->bytes_per_allocation + 0.5)));
		buf_printf(out, "; a straight line fits to %.0f %%", v->fit * 100);
		break;
	case VERDICT_BOUNDED:
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
