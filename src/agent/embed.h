/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What a dump is given so that it can be read where the program's files are not: build ids behind
 * its maps, which other readers pass over, and names before it, as jeprof has them. */
#include "agent/objects.h"
#include "agent/text.h"

/* # build-id ID START BIAS PATH: for each loaded file. */
void embed_build_ids(struct text *dump);
/* Adds to an object of JSON "mapped_libraries": the process's maps and the lines above, as an array
 * of texts.  What is no object is left as it is. */
void embed_maps(struct text *json);
/* The name that an address was given, or NULL.  What has none in jemalloc's own library, which is
 * stripped as a rule, is called malloc: so jeprof knows it for the allocator's, and cuts it off. */
const char *embed_name(const struct object_name *n, const struct text *names);
/* Makes it what jeprof calls symbolized.  Where there is no memory the text is marked as failed. */
void embed_names(struct text *dump);
