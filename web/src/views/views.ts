// SPDX-License-Identifier: MIT OR Apache-2.0
// The table of views: a new view is one file in this folder and one row here.
import type { ComponentType } from "preact";
import { FlameView } from "./flame";
import { AddressSpace } from "./address_space";
import { Allocations } from "./allocations";
import { Compare } from "./compare";
import { Downloads } from "./downloads";
import { FleetView } from "./fleet";
import { Functions } from "./functions";
import { HeapView } from "./heap";
import { Histograms } from "./histograms";
import { Leaks } from "./leaks";
import { LiveView } from "./live";
import { MapsView } from "./maps";
import { Overview } from "./overview";
import { register } from "./names";
import { Processes } from "./processes";
import { Recordings } from "./recordings";
import { ResidentMemory } from "./resident";
import { Script } from "./script";
import { Source } from "./source";
import { StatisticsView } from "./statistics";
import { Threads } from "./threads";
import { Tree } from "./tree";

export interface ViewProps {
	id: string; /* of the recording; "" where the view needs none */
}

export interface View {
	name: string; /* in the address: #/NAME/RECORDING */
	label: string;
	group:
		"" | "recording" | "jemalloc" | "this recording"; /* of the left column; "" is not listed */
	component: ComponentType<ViewProps>;
	recording: boolean; /* speaks about one recording */
	strip: boolean; /* has the timeline and the question box above it */
	running?: boolean; /* speaks about a running program: listed only where there is one */
}

export const VIEWS: readonly View[] = [
	{
		name: "recordings",
		label: "Recordings",
		group: "",
		component: Recordings,
		recording: false,
		strip: false,
	},
	{
		name: "processes",
		label: "Processes",
		group: "",
		component: Processes,
		recording: false,
		strip: false,
	},
	{
		name: "fleet",
		label: "Fleet",
		group: "",
		component: FleetView,
		recording: false,
		strip: false,
	},
	{
		name: "overview",
		label: "Overview",
		group: "recording",
		component: Overview,
		recording: true,
		strip: true,
	},
	{
		name: "leaks",
		label: "Leaks",
		group: "recording",
		component: Leaks,
		recording: true,
		strip: true,
	},
	{
		name: "flame",
		label: "Flame graph",
		group: "recording",
		component: FlameView,
		recording: true,
		strip: true,
	},
	{
		name: "allocations",
		label: "Allocations",
		group: "recording",
		component: Allocations,
		recording: true,
		strip: true,
	},
	{
		name: "functions",
		label: "Functions",
		group: "recording",
		component: Functions,
		recording: true,
		strip: true,
	},
	{
		name: "tree",
		label: "Call tree",
		group: "recording",
		component: Tree,
		recording: true,
		strip: true,
	},
	{
		name: "source",
		label: "Source",
		group: "recording",
		component: Source,
		recording: true,
		strip: true,
	},
	{
		name: "threads",
		label: "Threads",
		group: "recording",
		component: Threads,
		recording: true,
		strip: true,
	},
	{
		name: "histograms",
		label: "Histograms",
		group: "recording",
		component: Histograms,
		recording: true,
		strip: true,
	},
	{
		name: "rss",
		label: "Resident memory",
		group: "recording",
		component: ResidentMemory,
		recording: true,
		strip: true,
	},
	{
		name: "maps",
		label: "Memory maps",
		group: "recording",
		component: MapsView,
		recording: true,
		strip: true,
	},
	{
		name: "address_space",
		label: "Address space",
		group: "recording",
		component: AddressSpace,
		recording: true,
		strip: true,
	},
	{
		name: "live",
		label: "Live",
		group: "jemalloc",
		component: LiveView,
		recording: false,
		strip: false,
		running: true,
	},
	{
		name: "statistics",
		label: "Statistics",
		group: "jemalloc",
		component: StatisticsView,
		recording: false,
		strip: false,
	},
	{
		name: "heap",
		label: "Heap profile",
		group: "jemalloc",
		component: HeapView,
		recording: false,
		strip: false,
	},
	{
		name: "compare",
		label: "Compare…",
		group: "this recording",
		component: Compare,
		recording: true,
		strip: true,
	},
	{
		name: "download",
		label: "Download…",
		group: "this recording",
		component: Downloads,
		recording: true,
		strip: true,
	},
	{
		name: "script",
		label: "Script…",
		group: "this recording",
		component: Script,
		recording: true,
		strip: false,
	},
];

for (const view of VIEWS) register(view.name);
