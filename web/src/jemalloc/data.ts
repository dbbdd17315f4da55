// SPDX-License-Identifier: MIT OR Apache-2.0
// What the C side says about files of jemalloc statistics (docs/jemalloc.md has every field), and
// the few lookups that all views share.  Nothing is read or judged here: src/jemalloc does that.

// Numbers by name; one that was not printed is absent.
export type Row = { readonly [field: string]: number | undefined };
export type Mutex = { readonly name: string };

// See waterfall.tsx.  null: not printed.
export interface Waterfall {
	readonly resident: number | null;
	readonly active: number | null;
	readonly allocated: number | null;
	readonly program: number | null;
	readonly retained: number | null;
	readonly mapped: number | null;
	readonly steps: readonly {
		readonly name: string;
		readonly label: string;
		readonly from: string;
		readonly bytes: number;
	}[];
	// free in slabs, most first
	readonly bins: readonly { readonly size: number; readonly bytes: number }[];
	// small blocks that the heap profiler moved
	readonly sampled: { readonly count: number; readonly estimated: boolean };
}

export interface Advice {
	readonly id: string;
	readonly weight: "info" | "maybe" | "do";
	readonly what: string;
	readonly evidence: string;
	readonly malloc_conf: string | null;
	readonly control: string | null;
}

export interface Arena {
	readonly arena: string; // its number, "merged" or "destroyed"; numbers stand beside it
	readonly bins: readonly Row[];
	readonly large: readonly Row[];
	readonly extents: readonly Row[];
	readonly mutexes: readonly Mutex[];
	readonly hpa: { readonly slabs: readonly Row[] };
	readonly waterfall: Waterfall;
}

export interface Snapshot {
	readonly version: string;
	readonly notation: string;
	readonly mutex_counters_lost: boolean;
	readonly corrections: readonly string[];
	readonly settings: { readonly [name: string]: string };
	readonly shape: Row;
	readonly stats: Row;
	readonly mutexes: readonly Mutex[];
	readonly whole: string | null; // the arena that is all of them
	readonly arenas: readonly Arena[];
	readonly advice?: readonly Advice[];
}

// The curves of a file, one value for each point.
export interface Series {
	readonly snapshot: readonly number[]; // its number in the file
	readonly [field: string]: readonly (number | null)[];
}

export interface Grown {
	readonly size: number;
	readonly kind: string;
	readonly first_bytes: number;
	readonly bytes: number;
	readonly bytes_per_hour?: number;
	readonly bytes_per_snapshot?: number;
	readonly fit: number;
	readonly steady: boolean; // grows in a straight line
	readonly suspect: boolean; // has done so for long enough
}

export interface Growth {
	readonly clock: string;
	readonly early: string | null; // why nothing is called a leak yet
	readonly classes: readonly Grown[];
}

export interface History {
	readonly name: string;
	readonly snapshots: number; // in the file
	readonly kept: readonly number[]; // those that can be shown whole, rising
	readonly problems: readonly string[];
	readonly series: Series;
	readonly growth?: Growth; // of files with several snapshots
}

// Where files come from: the page itself, or the server.
export interface Source {
	readonly files: readonly {
		readonly id: string;
		readonly name: string;
		readonly version?: number;
	}[]; // version rises when a file grew
	history(id: string): Promise<History>;
	snapshot(id: string, number: number): Promise<Snapshot>;
}

// A number that stands among words and lists.
export function number(of: object, field: string): number | undefined {
	const value = (of as { [name: string]: unknown })[field];
	return typeof value === "number" ? value : undefined;
}

export const isLive = (a: Arena): boolean => a.arena !== "merged" && a.arena !== "destroyed";

// An arena by its name; all of them together for "".
export function chosen(s: Snapshot, arena: string): Arena | undefined {
	const name = arena || s.whole;
	return s.arenas.find((a) => a.arena === name);
}

// A size class in use, small or large alike.
export interface Class {
	readonly kind: "small" | "large";
	readonly size: number;
	readonly count: number;
	readonly allocated: number;
	readonly utilization?: number; // of slabs; absent: large, or not to be known
	readonly requests?: number;
}

// How full a bin's slabs are.  Counters are read one by one, so they may contradict each other.
export const utilization = (bin: object): number | undefined => {
	const said = number(bin, "util");
	return said === undefined ? undefined : Math.max(0, Math.min(1, said));
};

const optional = (name: string, value: number | undefined): object =>
	value === undefined ? {} : { [name]: value };

export function classes(a: Arena): Class[] {
	const small = a.bins
		.filter((b) => b["curregs"])
		.map((b): Class => ({
			kind: "small",
			size: b["size"] ?? 0,
			count: b["curregs"] ?? 0,
			allocated: b["allocated"] ?? 0,
			...optional("utilization", utilization(b)),
			...optional("requests", b["nrequests"]),
		}));
	const large = a.large
		.filter((l) => l["curlextents"])
		.map((l): Class => ({
			kind: "large",
			size: l["size"] ?? 0,
			count: l["curlextents"] ?? 0,
			allocated: l["allocated"] ?? 0,
			...optional("requests", l["nrequests"]),
		}));
	return [...small, ...large];
}
