/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Files that are sent: written to a private folder as they come, bounded, then opened. */
#include <stddef.h>
#include <stdint.h>

#include "server/request.h"

#define UPLOADS_MAX 4 /* at a time */

struct uploads;
struct uploads *uploads_new(void);
/* Removes its folder. */
struct uploads *uploads_free(struct uploads *u);

struct upload;
/* `size` is what the client says that it will send; NULL after request_fail(). */
struct upload *upload_new(struct request *r, uint64_t size);
/* Takes a piece: 0, or -errno after request_fail(). */
int upload_write(struct upload *u, struct request *r, const char *bytes, size_t size);
/* It is complete: its id, or -errno after request_fail(). */
int upload_open(struct upload *u, struct request *r, char ret_id[ID_SIZE]);
/* What was not opened is removed. */
void upload_free(struct upload *u);

/* Opens bytes that the server itself has got, as if they had been sent; any thread.  0 and the id,
 * or -errno with err. */
int uploads_put(struct server *s, const void *bytes, size_t size, const char *name,
		char ret_id[ID_SIZE], struct err *err);
