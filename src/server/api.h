/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* GET /api: what can be asked, as JSON.  Any thread; nothing but tables is read. */
#include <stdint.h>

struct buf;

void api_write(struct buf *out, uint64_t upload_limit);
