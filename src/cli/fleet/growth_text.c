/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Words about fleets.  See growth_text.h. */
#include "cli/fleet/growth_text.h"

#include <math.h>
#include <stdio.h>

#include "base/buf_text.h"
#include "base/order.h"
#include "cli/about.h"

#define HOUR 3600.0
#define LEAST 1.0 /* bytes per hour that are said */

const char *growth_text_rate(struct human *out, double bytes_per_second)
{
	double hour = bytes_per_second * HOUR;

	if (!(fabs(hour) >= LEAST) || fabs(hour) > 1e18)
		snprintf(out->text, sizeof(out->text), "–");
	else
		snprintf(out->text, sizeof(out->text), "%s%s/h", hour > 0 ? "+" : "-",
			 size_text((uint64_t)fabs(hour)));
	return out->text;
}

void growth_text_about(struct printing *p, const struct fleet_range *r)
{
	auto_buf struct buf filter = { 0 };

	about_line(p->out, &p->term, "fleet", "%s", p->ask->snapshot->name);
	if (p->ask->filter)
		filter_print(p->ask->filter, &filter);
	if (filter.size)
		about_line(p->out, &p->term, "filter", "%s", filter.data);
	if (r->last)
		about_line(p->out, &p->term, "time", "%s to %s", time_text(r->first),
			   time_text((int64_t)r->last + r->step));
}

void growth_text_spark(struct buf *out, const uint64_t *values, uint32_t count)
{
	static const char *const bars[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	uint64_t most = 0;

	for (uint32_t i = 0; i < count; i++)
		most = MAX(most, values[i]);
	for (uint32_t i = 0; i < count; i++)
		buf_text(out,
			 !values[i] ? " " : bars[(uint64_t)((double)values[i] / (double)most * 7)]);
}
