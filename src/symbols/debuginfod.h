/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Debug information from the servers that DEBUGINFOD_URLS names: the one way in which Memoir ever
 * uses a network, and only made when the user asked for it.
 *
 * The client library is loaded at run time, since it brings an HTTP library along that nobody else
 * needs. */
#include <stddef.h>
#include <stdint.h>

/* NULL if there is no server, or no library; debuginfod_problem() says which. */
struct debuginfod *debuginfod_new(void);
struct debuginfod *debuginfod_free(struct debuginfod *d);
/* A descriptor of the debug file with a build id, or -1.  One thread at a time. */
int debuginfod_find(struct debuginfod *d, const uint8_t *id, size_t size);
/* Why servers cannot be asked, in one line; NULL: they can. */
const char *debuginfod_problem(void);
