/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The library of relative_plugin.c. */
#include <stdlib.h>

void *plugin_allocates(void)
{
	void *volatile p = malloc(4321); /* not as a jump: the frame has to be there */

	return p;
}
