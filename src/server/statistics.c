/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/statistics_report: jemalloc's statistics as a page that is downloaded. */
#include "base/xalloc.h"
#include "jemalloc/report.h"
#include "server/request.h"

static int answer_report(struct request *r, struct sink *out)
{
	r->foreign = true;
	r->file_name = xasprintf("%s.html", r->ask.snapshot->name);
	return report_write(out, r->ask.snapshot->statistics, 1);
}

const struct route routes_statistics[] = {
	{ "/data/{id}/statistics_report", METHOD_GET,
	  "jemalloc's statistics as one page that needs nothing else",
	  .type = "text/html; charset=utf-8", .kind = "statistics", .way = ROUTE_STREAM,
	  .answer = answer_report },
	{ 0 },
};
