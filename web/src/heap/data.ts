// SPDX-License-Identifier: MIT OR Apache-2.0
// Heap profiles: what the server answers (docs/http-api.md), and the question that the address
// holds.
//
// In the address: measure=alloc (all that was ever allocated; else what is in use), weight=count
// (blocks; else bytes), by (line, file, address; else functions), thread, focus, ignore, retain,
// exclude (regular expressions), allocator=1, base (another dump: a difference); shape, zoom, pin,
// search, unfold, as of the flame graph; find and sort of the table.
import type { Answer, ApiError } from "../app/api";
import type { DumpFlameQuery } from "../app/endpoints";
import type { Recording } from "../app/recordings";
import type { Parameters } from "../app/url";
import { pathKey } from "../parts/flame/tree";

export interface Amounts {
	inuse_space: number;
	inuse_objects: number;
	alloc_space: number;
	alloc_objects: number;
}
export interface Facts extends Amounts {
	id: string;
	name: string;
	program: string;
	rate: number;
	growth: boolean;
	accumulated: boolean;
	stacks: number;
	changed_at: number;
	threads: (Amounts & { thread: number; name: string | null })[];
}
export interface Row {
	name: string;
	flat_bytes: number;
	flat_objects: number;
	cum_bytes: number;
	cum_objects: number;
	flat_bytes_before?: number;
	flat_objects_before?: number;
	cum_bytes_before?: number;
	cum_objects_before?: number;
}
export interface TopAnswer {
	total: { bytes: number; objects: number; bytes_before?: number; objects_before?: number };
	total_count: number;
	rows: Row[];
}
export interface Report {
	name: string;
	extension: string;
	type: string;
	help: string;
	regex: boolean;
	whole: boolean; /* of all that is in the dump */
}

export type By = "function" | "line" | "file" | "address";
export type Shape = "down" | "up" | "thread";

export interface Asked {
	ever: boolean; /* all that was allocated, not what is in use */
	weight: "bytes" | "count";
	by: By;
	shape: Shape;
	base: string | undefined;
	query: Omit<DumpFlameQuery, "direction" | "threads" | "limit">; /* of every endpoint */
	filtered: boolean;
	words: string; /* "in use" */
}

export const FILTERS = [
	["focus", "only stacks through"],
	["ignore", "no stacks through"],
	["retain", "only frames"],
	["exclude", "no frames"],
] as const;

export function asked(parameters: Parameters): Asked {
	const ever = parameters["measure"] === "alloc",
		weight = parameters["weight"] === "count" ? "count" : "bytes";
	const by =
		(["line", "file", "address"] as const).find((b) => b === parameters["by"]) ?? "function";
	const shape = (["up", "thread"] as const).find((s) => s === parameters["shape"]) ?? "down";
	const filters = Object.fromEntries(
		[...FILTERS.map(([name]) => name), "thread"].map((name) => [name, parameters[name]]),
	);
	return {
		ever,
		weight,
		by,
		shape,
		base: parameters["base"] || undefined,
		words: ever ? "allocated" : "in use",
		filtered: Object.values(filters).some(Boolean),
		query: {
			measure: `${ever ? "alloc" : "inuse"}_${weight === "bytes" ? "space" : "objects"}`,
			by: by === "function" ? undefined : by,
			...filters,
			allocator: parameters["allocator"] ? true : undefined,
			base: parameters["base"],
		},
	};
}

/* A regular expression that cannot be read is said at its field, and what was there before
 * stays. */
export const isPattern = (error: ApiError | undefined): boolean =>
	FILTERS.some(([name]) => name === error?.parameter);
export const calmed = <T>(answer: Answer<T>): Answer<T> =>
	isPattern(answer.error) && answer.data !== undefined
		? { ...answer, error: undefined, busy: true, fresh: false }
		: answer;

const escape = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/* The regular expression that knows the frames of one name, and no others. */
export function patternOf(by: By, name: string): string {
	if (by === "file") return `^${escape(name)}:`;
	const line = by === "line" ? /^.* (\S+:\d+)$/.exec(name) : null,
		address = by === "address" ? /^(\[[^\]]*\]|0x[0-9a-f]+)/.exec(name) : null;
	return `^${escape(line?.[1] ?? address?.[1] ?? name)}$`;
}

/* What a name holds by itself is its box in the flame graph from below. */
export const ownBox = (name: string): Parameters => ({ shape: "up", zoom: pathKey(["all", name]) });

export const programOf = (r: Pick<Recording, "heap" | "name">): string =>
	r.heap?.program.split("/").pop() || r.name;
export const usable = (r: Recording): boolean => r.kind === "heap" && r.state === "ready";
