/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Files of jemalloc's statistics: a kind of file (kind.c), and the page of them that is downloaded.
 */
#include "base/json.h"
#include "server/kind.h"

/* Whether there is a snapshot in it; where the file was only found, at its start. */
bool statistics_is(const struct kind_file *f, char ret_id[ID_SIZE]);
int statistics_load(struct snapshot *s, const struct loading *l, struct err *err);
/* What a file without any seems to be, for a message. */
const char *statistics_guess(const struct kind_file *f);

/* "jemalloc": {…} of /list. */
void statistics_list(struct json *j, const struct snapshot *s);
