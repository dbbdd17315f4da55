/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Scripts as filters: custom_filter=SCRIPT, which is worth a list of allocations. */
struct param;
struct request;

/* Makes a request of its own, for a run, of which the answer is the expression that the script in
 * `p` comes to. */
void scripts_choosing(const struct request *of, const struct param *p, struct request *ret);
