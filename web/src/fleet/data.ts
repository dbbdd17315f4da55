// SPDX-License-Identifier: MIT OR Apache-2.0
// What the Fleet view asks and is told (docs/http-api.md), and what its address means: rows (what
// the list is of), label, filter, from, to and at (seconds since 1970), show (the list, what grows,
// the flame graph, a comparison), sort, search.
import { dataUrl, useData, type Asked } from "../app/recordings";
import type { Address, Answer } from "../app/api";
import type { FleetGroupsQuery } from "../app/endpoints";
import { route, useRoute } from "../app/url";
import { quote } from "../parts/terms";
import { bytes } from "../parts/units";

export interface Group {
	name: string;
	recordings: number;
	hosts: number;
	services: number;
	builds: number;
	started: number;
	ended: number;
	live_bytes: number;
	live_count: number;
	before_bytes: number;
	growth_per_second: number;
	peak_bytes: number;
	leaked_bytes: number;
	allocated_bytes: number;
	spark?: number[];
}
export interface Groups {
	since: number;
	until: number;
	total_count: number;
	total: {
		recordings: number;
		live_bytes: number;
		live_count: number;
		growth_per_second: number;
	};
	groups: Group[];
}
export interface Curve {
	name: string;
	live_bytes: number[];
	live_count: number[];
	allocated_bytes: number[];
	freed_bytes: number[];
	recordings: number[];
}
export interface Trend {
	since: number;
	until: number;
	step_s: number;
	width_s: number;
	xs: number[];
	all?: Curve;
	curves: Curve[];
}
export interface Growing {
	name: string;
	class: "growing" | "steady" | "shrinking";
	before_bytes: number;
	live_bytes: number;
	live_count: number;
	recordings: number;
	growing: number;
	hosts: number;
	services: number;
	growth_per_second: number;
	grown_bytes: number;
	share: number;
	spark?: number[];
}
export interface Growths {
	every_s: number;
	grown_bytes: number;
	total_count: number;
	rows: Growing[];
}
export interface Sent {
	id: string;
	kind: string;
	service: string;
	host: string;
	build: string;
	release: string;
	command: string;
	file: string;
	labels: string[];
	started: number;
	ended: number;
	pid: number;
	peak_bytes: number;
	leaked_bytes: number;
	live_bytes: number;
	growth_per_second: number;
}
export interface Recordings {
	total_count: number;
	recordings: Sent[];
}

export type Rows = NonNullable<FleetGroupsQuery["by"]>;
export const ROWS: readonly (readonly [Rows, string, string])[] = [
	["service", "services", "service"],
	["host", "hosts", "host"],
	["build", "builds", "build"],
	["release", "releases", "release"],
	["label", "labels", "label"],
	["day", "days", "day"],
	["recording", "recordings", "recording"],
];
/* What a row of each leads to. */
export const BELOW: Record<string, Rows> = {
	service: "host",
	host: "recording",
	build: "host",
	release: "host",
	label: "service",
	day: "service",
};

const DAY = 86400;
const dayOf = (name: string): number => Date.parse(`${name}T00:00:00Z`);

/* The term that chooses a row; a day is a span of time. */
export function termOf(rows: string, name: string, label: string): string {
	if (rows === "label") return name ? `label = ${quote(`${label}=${name}`)}` : "";
	if (rows === "day") {
		const start = dayOf(name);
		return `allocated >= ${start} and allocated < ${start + DAY * 1000}`;
	}
	return `${rows} = ${quote(name)}`;
}

/* The address of a row: a day is chosen in the curve, anything else is a term of the question. */
export const daySpan = (name: string): { from: string; to: string } => ({
	from: String(dayOf(name) / 1000),
	to: String(dayOf(name) / 1000 + DAY),
});

export interface FleetAsked {
	filter: string | undefined;
	since: string | undefined;
	until: string | undefined;
}
const ms = (seconds: string | undefined): string | undefined =>
	seconds ? String(Math.round(Number(seconds) * 1000)) : undefined;
export function fleetAsked(): FleetAsked {
	const { filter, from, to } = route().parameters;
	return { filter, since: ms(from), until: ms(to) };
}

/* Of questions about stacks, which know no span: what was allocated in it, or what is alive at a
 * moment, which is the end of what was sent of the span unless one is chosen. */
export function stacksAsked(measure: string): Asked & { at?: string } {
	const { filter, from, to, at } = route().parameters;
	if (measure === "alive") return { filter, at: ms(at) } as Asked & { at?: string };
	return { filter, from: ms(from), to: ms(to) } as Asked;
}

export function useTrend(id: string): Answer<Trend> {
	useRoute();
	return useData<Trend>(
		dataUrl(id, "/fleets/{id}/trend", { filter: fleetAsked().filter, points: 400 }),
	);
}

export const sumUrl = (id: string): Address =>
	dataUrl(id, "/fleets/{id}/groups", { ...fleetAsked(), by: "service", count: 0 });

/* "+1.2 MiB/h", or by the day where that is easier to read. */
export function rate(perSecond: number): string {
	const hour = perSecond * 3600;
	if (Math.abs(hour) < 1) return "–";
	const sign = hour > 0 ? "+" : "−";
	return Math.abs(hour) < 1024
		? `${sign}${bytes(Math.abs(hour) * 24)}/day`
		: `${sign}${bytes(Math.abs(hour))}/h`;
}

/* Where there is room for two columns, the second one is a number and not its curve. */
export const curvesLast = <C extends { key: string }>(columns: C[]): C[] =>
	innerWidth < 700
		? [...columns.filter((c) => c.key !== "spark"), ...columns.filter((c) => c.key === "spark")]
		: columns;
