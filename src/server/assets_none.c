/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A build without the page.  See assets.h. */
#include "server/assets.h"

const struct asset assets[] = { { 0 } };
const size_t assets_count;
