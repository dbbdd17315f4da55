/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The file behind a request about a heap profile dump.  Any thread. */

struct buf;

struct request;
/* The bytes of a request's dump, unpacked: 0, or -EINVAL after ask_fail().  Released in either
 * case. */
int dumps_bytes(struct request *r, struct buf *b);
