/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Text of malloc_stats_print on any bytes.  What can be printed of it must be within bounds. */
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "fuzz.h"
#include "jemalloc/notations.h"

FUZZ(jemalloc_text, data, size)
{
	char *exact = xmalloc(size + !size); /* so that a read beyond the end is seen */
	struct stats s;

	if (size)
		memcpy(exact, data, size);
	stats_init(&s);
	stats_read_text(&s, exact, size);
	for (size_t i = 0; i < s.setting_count; i++)
		if (s.settings[i].value + strlen(s.words.data + s.settings[i].value) >=
		    s.words.size)
			abort();
	for (size_t i = 0; i < s.arena_count; i++)
		if (stats_arena(&s, s.arenas[i].id) == NULL)
			abort();
	stats_release(&s);
	free(exact);
	return 0;
}
