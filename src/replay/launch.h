/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* One run of a plan with one allocator, in a process of its own. */
#include "base/err.h"
#include "replay/allocator.h"
#include "replay/plan.h"

/* 0, or -errno with err: the allocator crashed, was not loaded, lost count. */
int launch_replay(const struct allocator *a, int plan_fd, enum plan_touch touch,
		  enum plan_trim trim, struct plan_result *ret_result, struct err *err);
