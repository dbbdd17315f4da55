/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The recording of the program that a process became by exec: a script's interpreter behind env, or
 * a server behind the shell script that starts it.  Its file is another one, and who opens the
 * first wants to be led there. */
#include <stdbool.h>

#include "model/model.h"

struct successor {
	char *path, *executable;
};

/* The last program of the process that a recording in the same folder is of; any thread.  False: it
 * did not become another, or that was not recorded, or is elsewhere now. */
bool successor_find(const struct model *m, struct successor *ret);
void successor_release(struct successor *s);
