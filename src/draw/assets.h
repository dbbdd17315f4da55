/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Scripts and styles that are part of an output: the files of assets/, as the build embeds them. */

extern const char asset_callgraph_js[], asset_callgraph_css[];
extern const char asset_flamegraph_js[], asset_flamegraph_css[];
extern const char asset_page_html[], asset_page_css[], asset_page_js[];
