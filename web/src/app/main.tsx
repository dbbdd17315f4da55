// SPDX-License-Identifier: MIT OR Apache-2.0
// Where the server's page starts.
import { render } from "preact";
import { Shell } from "./shell";
import { startTheme } from "./theme";
import "../style/tokens.css";
import "../style/base.css";
import "../style/parts.css";
import "../style/views.css";

startTheme();
render(<Shell />, document.getElementById("app")!);
