// SPDX-License-Identifier: MIT OR Apache-2.0
// The question rss: where resident memory goes, at a moment and over the run
// (docs/http-api.md#get-dataidrss).  Steps lead from the kernel's figure to what was asked for.
import type { RssQuery } from "../app/endpoints";
import type { Frame } from "./frames";

export type TermName = NonNullable<RssQuery["open"]>;

export interface Part {
	kind: "map" | "file" | "stack" | "blocks";
	name: string;
	allocator?: string;
	bytes: number;
	size: number;
	maps: number;
	blocks: number;
	address?: number;
	backtrace_id: number;
	backtrace?: Frame[];
}
export interface Term {
	name: TermName;
	title: string;
	help: string;
	bytes: number;
	part_total: number;
	parts: Part[];
}
export interface Moment {
	at_ns: number;
	rss: number;
	swap: number;
	live_bytes: number;
	huge_pages: number;
	terms: number[];
}
export interface Resident {
	at_ns: number;
	sampled_ns: number | null;
	rss: number | null;
	swap: number | null;
	live_bytes: number | null;
	huge_pages: number | null;
	terms: Term[];
	series?: Moment[];
}

export interface Step {
	key: string;
	label: string;
	help: string;
	kind: "sum" | "minus" | "plus";
	from: number; /* where its bar begins */
	bytes: number;
	term?: Term; /* that it opens to */
}

/* What lies outside the allocator's memory, and what it keeps of its own, outermost first. */
const OUTSIDE: readonly TermName[] = [
	"unknown",
	"memoir",
	"code",
	"data",
	"files",
	"anonymous",
	"stacks",
];
const KEPT: readonly TermName[] = ["allocator", "huge", "free_pages", "free_parts"];
export const FREE: readonly TermName[] = ["huge", "free_pages", "free_parts"];

export const bytesOf = (terms: readonly Term[], names: readonly TermName[]): number =>
	terms.reduce((sum, t) => sum + (names.includes(t.name) ? t.bytes : 0), 0);

/* Steps of nothing are left out, but for what is unknown: that is worth saying. */
export function steps(r: Resident): Step[] {
	const found: Step[] = [];
	let at = r.rss ?? 0;
	const sum = (key: string, label: string, help: string, term?: Term): void => {
		found.push({
			key,
			label,
			help,
			kind: "sum",
			from: 0,
			bytes: at,
			...(term ? { term } : {}),
		});
	};
	const down = (names: readonly TermName[]): void => {
		for (const name of names) {
			const term = r.terms.find((t) => t.name === name);
			if (!term || (!term.bytes && name !== "unknown")) continue;
			at -= term.bytes;
			found.push({
				key: name,
				label: term.title,
				help: term.help,
				kind: "minus",
				from: at,
				bytes: term.bytes,
				term,
			});
		}
	};
	sum("rss", "resident", "RSS: what the kernel says that the process has in memory");
	down(OUTSIDE);
	sum("heap", "allocator’s memory", "maps that hold blocks, and what is resident of them");
	down(KEPT);
	sum("blocks", "in live blocks", "with what was rounded up");
	down(["rounding"]);
	sum(
		"requested",
		"asked for",
		"bytes of live blocks that are resident",
		r.terms.find((t) => t.name === "requested"),
	);
	const rest = (r.live_bytes ?? 0) - at;
	if (rest > 0) {
		found.push({
			key: "absent",
			label: "not resident",
			help: "asked for, but never written to, or swapped out",
			kind: "plus",
			from: at,
			bytes: rest,
		});
		at += rest;
		sum("live", "asked for in all", "bytes of live blocks, resident or not");
	}
	return found;
}

/* For a stacked graph, the topmost first: each with the sum of it and all below. */
export function layers(
	terms: readonly Term[],
	series: readonly Moment[],
): { name: TermName; title: string; own: number[]; upTo: number[] }[] {
	const sums = series.map(() => 0);
	return terms
		.map(({ name, title }, i) => {
			const own = series.map((m) => m.terms[i] ?? 0);
			return { name, title, own, upTo: own.map((v, k) => (sums[k]! += v)) };
		})
		.filter((layer) => layer.own.some((v) => v > 0))
		.reverse();
}
