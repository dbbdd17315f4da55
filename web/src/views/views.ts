// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of views: a new view is one file in this folder and one row here.
import type { ComponentType } from "preact";
import { FlameView } from "./flame";
import { Overview } from "./overview";
import { register } from "./names";
import { Recordings } from "./recordings";

export interface ViewProps {
	id: string; /* of the recording; "" where the view needs none */
}

export interface View {
	name: string; /* in the address: #/NAME/RECORDING */
	label: string;
	group: "" | "recording" | "jemalloc" | "this recording"; /* of the left column; "" is not listed */
	component: ComponentType<ViewProps>;
	recording: boolean; /* speaks about one recording */
	strip: boolean; /* has the timeline and the question box above it */
}

export const VIEWS: readonly View[] = [
	{ name: "recordings", label: "Recordings", group: "", component: Recordings, recording: false, strip: false },
	{ name: "overview", label: "Overview", group: "recording", component: Overview, recording: true, strip: true },
	{ name: "flame", label: "Flame graph", group: "recording", component: FlameView, recording: true, strip: true },
];

for (const view of VIEWS) register(view.name);
