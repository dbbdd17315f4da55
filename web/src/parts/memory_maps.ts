// SPDX-License-Identifier: MIT OR Apache-2.0
// The question maps (docs/http-api.md#get-dataidmaps): a memory map as the server tells of it, and
// what the page says about one.
import type { MapsQuery } from "../app/endpoints";
import type { Timeval } from "../app/recordings";
import type { Parameters } from "../app/route";
import { fileName, type Frame } from "./frames";

export interface Source {
	timestamp_relative: Timeval;
	thread: number;
	call: string;
	backtrace_id: number;
	backtrace?: Frame[];
}
export interface Permissions {
	is_readable: boolean;
	is_writable: boolean;
	is_executable: boolean;
	is_shared: boolean;
}
export interface Region extends Permissions {
	address: number;
	timestamp_relative: Timeval;
	size: number;
	deallocation?: {
		timestamp_relative: Timeval;
		sources: { address: number; length: number; source?: Source }[];
	};
	file_offset: number;
	name: string;
}
export interface Usage {
	timestamp_relative: Timeval;
	address_space: number;
	rss: number;
	anonymous: number;
	shared_clean: number;
	shared_dirty: number;
	private_clean: number;
	private_dirty: number;
	swap: number;
}
export interface Growth {
	bytes: number;
	calls: number;
	backtrace_id: number;
	backtrace: Frame[];
}
export interface MemoryMap extends Permissions {
	id: number;
	address: number;
	timestamp_relative: Timeval;
	timestamp_relative_p: number;
	size: number;
	source?: Source;
	deallocation?: { timestamp_relative: Timeval; source?: Source };
	is_own: boolean;
	name: string;
	peak_rss: number;
	rss: number;
	spark?: number[];
	regions?: Region[];
	usage_history?: Usage[];
	grown_by?: Growth[];
}
export interface Maps {
	maps: MemoryMap[];
	total_count: number;
	total_size: number;
	total_rss: number;
	total_peak_rss: number;
}

const seconds = (t: Timeval): number => t.secs + t.fract_nsecs / 1e9;

export const PAGE = 4096;

export const permissions = (p: Permissions): string =>
	(p.is_readable ? "r" : "-") +
	(p.is_writable ? "w" : "-") +
	(p.is_executable ? "x" : "-") +
	(p.is_shared ? "s" : "p");

/* What the names mean that the kernel, or the recorder, gives. */
const KINDS: readonly (readonly [RegExp, string])[] = [
	[/^\[anon:mmap\]$/, "mapped by the program"],
	[/^\[anon:glibc\]$/, "mapped by libc, for a large block, an arena or a thread’s stack"],
	[/^\[anon:jemalloc\]$/, "mapped by jemalloc"],
	[/^\[heap\]$/, "libc’s main heap"],
	[/^\[stack\]$/, "the first thread’s stack"],
	[/^\[v(dso|var|syscall)/, "the kernel’s"],
	[/memoir/, "the recorder’s own"],
	[/^\//, "a file"],
	[/^$/, "anonymous"],
];

export const kindOf = (name: string): string =>
	KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? "";
export const shownName = (name: string): string =>
	name === "" ? "anonymous" : name.startsWith("/") ? fileName(name) : name;

/* How long it was there, in seconds; undefined: it stayed. */
export const lifetime = (m: {
	timestamp_relative: Timeval;
	deallocation?: { timestamp_relative: Timeval };
}): number | undefined =>
	m.deallocation && seconds(m.deallocation.timestamp_relative) - seconds(m.timestamp_relative);

/* What only maps can be asked for: keys of the address, and parameters of the question alike. */
export const SIZES = ["peak_rss_min", "peak_rss_max"] as const;
export const FLAGS = [
	"readable",
	"writable",
	"executable",
	"shared",
	"jemalloc",
	"memoir",
] as const;
type Chosen = Pick<MapsQuery, (typeof SIZES)[number] | (typeof FLAGS)[number] | "name" | "holds">;

export function chosen(parameters: Parameters): Chosen {
	const keys = ["name", "holds", ...SIZES, ...FLAGS] as const;
	return Object.fromEntries(
		keys.filter((key) => parameters[key]).map((key) => [key, parameters[key]]),
	) as Chosen;
}

/* What it had over time, for a graph: a figure stays until the next one. */
export function curves(
	history: readonly Usage[],
	end: number,
): { xs: number[]; rss: number[]; space: number[] } {
	const at = (u: Usage): number => seconds(u.timestamp_relative);
	const xs: number[] = [],
		rss: number[] = [],
		space: number[] = [];
	const push = (x: number, u: Usage): void => {
		xs.push(x);
		rss.push(u.rss);
		space.push(u.address_space);
	};
	history.forEach((u, i) => {
		const before = history[i - 1];
		/* A step, not a slope: nobody saw what was in between. */
		if (before && at(u) > xs.at(-1)!) push(at(u), before);
		push(at(u), u);
	});
	const last = history.at(-1);
	if (last && at(last) < end) push(end, last);
	return { xs, rss, space };
}
