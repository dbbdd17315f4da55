/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What a filter chooses of a fleet, as a view: the server adds up by stack what is asked for, and
 * trees, lists and differences are made of the sums by the code that makes them of a recording. */
#include "fleet/schema.h"
#include "query/view.h"

/* A view of one thread's; NULL with err: the filter asks for what a fleet does not know.  The
 * server is asked when the view is weighed (query/view_source.h).  `f` must outlive it. */
struct view *fleet_view_new(const struct fleet *f, const struct fleet_facts *facts,
			    const struct filter *filter, struct err *err);
/* The start of the last bucket that ends at this moment or before it, in seconds; `ns` since 1970.
 */
uint64_t fleet_bucket_before(uint64_t ns, uint32_t step);
