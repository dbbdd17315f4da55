/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The interpreter of seccomp filters on hostile ones.
 *
 * It runs inside other people's processes on whatever they install: it must read nothing but the
 * filter and the call, and must end.  The first 24 bytes are the call's number and two arguments;
 * the rest is the filter. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "recorder/bpf.h"

FUZZ(bpf, data, size)
{
	struct seccomp_data call = { 0 };
	struct sock_filter *filter;
	size_t count;

	if (size < 24)
		return 0;
	memcpy(&call.nr, data, sizeof(call.nr));
	memcpy(call.args, data + 8, 16);
	count = (size - 24) / sizeof(*filter);
	filter = malloc(count * sizeof(*filter) + 1);
	memcpy(filter, data + 24, count * sizeof(*filter));
	bpf_answer(filter, (unsigned)count, &call);
	free(filter);
	return 0;
}
