// SPDX-License-Identifier: MIT OR Apache-2.0
// Where the page of jemalloc's statistics starts: on the server, and as one self-contained file
// (__REPORT__), which shows the data that stands in it.
import { render } from "preact";
import { startTheme } from "../app/theme";
import { Card } from "../parts/card";
import "../style/tokens.css";
import "../style/base.css";
import "../style/parts.css";

startTheme();
render(<main class="main"><Card title="jemalloc statistics" /></main>, document.getElementById("app")!);
