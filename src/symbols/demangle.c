/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Demangling by libiberty, which knows both C++ and Rust (old and new style). */
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/symbols.h"

char *demangle(const char *name)
{
	char *text = NULL;

	/* Names that start otherwise are C, and some of those look like mangled types. */
	if (!strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2) || !strncmp(name, "__Z", 3))
		text = cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
	return text ? text : xstrdup(name);
}
