// SPDX-License-Identifier: MIT OR Apache-2.0
// What the server has open.  The list is asked for again and again while the page is open (quickly
// while something loads or is still being recorded); useData() is how a view asks about its
// recording: when that grows, the question is asked again by itself.
import { useEffect, useState } from "preact/hooks";
import {
	ApiError,
	send,
	url,
	useAnswer,
	type Address,
	type Answer,
	type Manner,
	type Path,
	type Query,
	type Words,
} from "./api";
import type { Endpoints, Filters } from "./endpoints";
import { useRoute, type Parameters } from "./url";

export interface Timeval {
	secs: number;
	fract_nsecs: number;
}
export interface Warning {
	kind: string;
	text: string;
	modules?: string[];
}
export interface Recording {
	id: string;
	name: string;
	kind: string;
	state: "loading" | "ready" | "live" | "error";
	progress: number;
	version: number;
	error: string | null;
	warnings: Warning[];
	file_size: number;
	live: boolean;
	uploaded: boolean;
	executable?: string;
	cmdline?: string;
	architecture?: string;
	final_allocated?: number;
	final_allocated_count?: number;
	peak_allocated?: number;
	peak_allocated_count?: number;
	allocated_count?: number;
	runtime?: Timeval;
	unique_backtrace_count?: number;
	timestamp?: Timeval;
	pid?: number;
	hostname?: string | null;
	naming_progress?: number; /* names are being looked for */
	recordings?: number; /* of a folder */
	heap?: {
		program: string;
		rate: number;
		inuse_space: number;
		inuse_objects: number;
		alloc_space: number;
		alloc_objects: number;
		stacks: number;
		threads: number;
	};
	jemalloc?: {
		version: string;
		snapshots: number;
		allocated?: number;
		active?: number;
		resident?: number;
	};
}

export const seconds = (t: Timeval | undefined): number => (t ? t.secs + t.fract_nsecs / 1e9 : 0);

/* Rows of what is no recording, or not read yet, have the program's figures as zeros for other
 * clients' sake; allocated_count is there only where they are known. */
function withoutZeros(r: Recording): Recording {
	if (r.allocated_count !== undefined) return r;
	const {
		final_allocated,
		final_allocated_count,
		runtime,
		unique_backtrace_count,
		timestamp,
		...known
	} = r;
	return known;
}

interface State {
	list: Recording[] | undefined;
	error: ApiError | undefined;
}
let state: State = { list: undefined, error: undefined };
let last = "";
let timer = 0;
const listeners = new Set<() => void>();

function say(next: State): void {
	state = next;
	for (const listener of [...listeners]) listener();
}

export async function refresh(): Promise<void> {
	clearTimeout(timer);
	try {
		const text = await (await send(url("/list"))).text();
		if (text !== last || state.error) {
			last = text;
			say({ list: (JSON.parse(text) as Recording[]).map(withoutZeros), error: undefined });
		}
	} catch (error) {
		last = "";
		say({
			list: state.list,
			error: error instanceof ApiError ? error : new ApiError(0, String(error)),
		});
	}
	clearTimeout(timer);
	const loading = state.list?.some((r) => r.state === "loading"),
		busy = state.list?.some((r) => r.state === "live" || r.naming_progress !== undefined);
	timer = window.setTimeout(
		() => void refresh(),
		/* Who waits for a file sees it as soon as it is there. */
		state.error ? 3000 : loading ? 250 : busy ? 1000 : 5000,
	);
}

export function useRecordings(): State {
	const [seen, set] = useState(state);
	useEffect(() => {
		const listener = (): void => set(state);
		listeners.add(listener);
		listener();
		if (!timer) void refresh();
		return () => {
			listeners.delete(listener);
		};
	}, []);
	return seen;
}

export const find = (id: string): Recording | undefined =>
	id === "last" ? state.list?.at(-1) : state.list?.find((r) => r.id === id);

export const ofKind = (kind: string): Recording[] =>
	state.list?.filter((r) => r.kind === kind) ?? [];

/* The version stands behind a "#", which is never sent: it only makes another question of it. */
export function dataUrl<
	P extends Extract<Path, `/${string}/{id}/${string}`>,
	Q extends Endpoints[P],
>(id: string, path: P, query: Query<P, Q>, words?: Omit<Words<P>, "id">): Address {
	const version = find(id)?.version ?? 0;
	const address = (url as (path: Path, words: object, query: object) => Address)(
		path,
		{ id, ...words },
		query,
	);
	return version > 1 ? (`${address}#${version}` as Address) : address;
}

/* null asks nothing, nor does an address without an id: nothing is open then. */
export function useData<T>(address: Address | null, manner: Manner = {}): Answer<T> {
	useRecordings();
	return useAnswer<T>(address?.match(/^\/(data|folders|fleets)\/\//) ? null : address, manner);
}

/* The part of a question that every view shares: the expression, whose frames are, the brush. */
export type Asked = Pick<Filters, "filter" | "hide" | "own" | "from" | "to">;
export function asked(parameters: Parameters): Asked {
	return {
		filter: parameters["filter"],
		hide: parameters["hide"],
		own: parameters["own"],
		from: time(parameters["from"]),
		to: time(parameters["to"]),
	};
}

/* Times are plain seconds in the address; in questions they have their unit, and no part of a
 * nanosecond.  What is no number is passed on: the server says what is wrong with it. */
export const time = (text: string | undefined): string | undefined =>
	text
		? `${
				Number.isFinite(Number(text))
					? Number(text)
							.toFixed(9)
							.replace(/\.?0+$/, "")
					: text
			}s`
		: undefined;
export const nsToSeconds = (ns: number): string => String(Math.round(ns) / 1e9);
export const useAsked = (): Asked => asked(useRoute().parameters);
