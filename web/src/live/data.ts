// SPDX-License-Identifier: MIT OR Apache-2.0
// What a running jemalloc says, second by second.  The server asks the agent, and keeps the curves;
// the page asks for the newest point each second while it is seen, and for what it missed in one
// go.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, send, url, type Address } from "../app/api";
import type { Arena } from "../jemalloc/data";

export interface Now {
	id: string;
	pid: number;
	program: string;
	version: string;
	number: number;
	time_ms: number;
	stats: Record<string, number>;
	shape: Record<string, number>;
	prof: {
		enabled: boolean;
		active?: boolean;
		thread_active_init?: boolean;
		gdump?: boolean;
		lg_sample?: number;
		accum: boolean;
	};
	arenas: Arena[];
}

type Numbers = (number | null)[];
export const CURVES = [
	"allocated",
	"active",
	"resident",
	"mapped",
	"retained",
	"metadata",
	"dirty",
	"muzzy",
] as const;
export type Curve = (typeof CURVES)[number];
export interface Series {
	first: number; /* the number of the first point */
	next: number; /* and of the one that will come */
	time_ms: number[];
	curves: Record<Curve, Numbers>;
	arenas: Record<string, { dirty: Numbers; muzzy: Numbers }>;
}
type Answer = { first: number; next: number; time_ms: number[]; arenas: Series["arenas"] } & Record<
	Curve,
	Numbers
>;

const LIMIT = 3600; /* points, as on the server */
const EVERY = 1000;
const AFTER_ERROR = 2000;

const padded = (count: number): null[] => Array.from({ length: count }, () => null);

/* Two stretches, one behind the other; what is older than an hour is let go. */
export function join(old: Series | undefined, more: Answer): Series {
	const fresh: Series = {
		first: more.first,
		next: more.next,
		time_ms: more.time_ms,
		curves: Object.fromEntries(CURVES.map((c) => [c, more[c]])) as Series["curves"],
		arenas: more.arenas,
	};
	if (!old || more.first !== old.next) return fresh;
	const cut = Math.max(0, old.time_ms.length + more.time_ms.length - LIMIT),
		before = old.time_ms.length,
		behind = more.time_ms.length;
	const both = (a: Numbers | undefined, b: Numbers | undefined): Numbers =>
		[...(a ?? padded(before)), ...(b ?? padded(behind))].slice(cut);
	const names = [...new Set([...Object.keys(old.arenas), ...Object.keys(more.arenas)])];
	return {
		first: old.first + cut,
		next: more.next,
		time_ms: [...old.time_ms, ...more.time_ms].slice(cut),
		curves: Object.fromEntries(
			CURVES.map((c) => [c, both(old.curves[c], more[c])]),
		) as Series["curves"],
		arenas: Object.fromEntries(
			names.map((n) => [
				n,
				{
					dirty: both(old.arenas[n]?.dirty, more.arenas[n]?.dirty),
					muzzy: both(old.arenas[n]?.muzzy, more.arenas[n]?.muzzy),
				},
			]),
		),
	};
}

export interface Live {
	now: Now | undefined;
	series: Series | undefined;
	error: ApiError | undefined; /* of the last time; what was known before stays */
}
const NOTHING: Live = { now: undefined, series: undefined, error: undefined };

const asError = (error: unknown): ApiError =>
	error instanceof ApiError ? error : new ApiError(0, String(error));

/* Paused, it goes on being asked, so that nothing is missing later; what is shown stays. */
export function useLive(id: string, paused: boolean): Live & { again: () => void } {
	const [shown, show] = useState(NOTHING);
	const latest = useRef(shown),
		still = useRef(paused),
		again = useRef(() => {});
	still.current = paused;
	useEffect(() => {
		let over = false,
			timer = 0;
		latest.current = NOTHING;
		show(latest.current);
		const abort = new AbortController();
		const ask = async <T>(address: Address): Promise<T> =>
			(await (await send(address, { signal: abort.signal })).json()) as T;
		const look = async (): Promise<void> => {
			const { series } = latest.current;
			const now = await ask<Now>(url("/agents/{agent}/stats", { agent: id }));
			/* One server's numbers are not another's: then all of it is asked for. */
			const since = series && now.number >= series.next - 1 ? series.next : 0;
			const more =
				series && now.number === series.next - 1
					? undefined
					: await ask<Answer>(
							url(
								"/agents/{agent}/series",
								{ agent: id },
								{ since: since || undefined },
							),
						);
			latest.current = {
				now,
				series: more ? join(since ? series : undefined, more) : series,
				error: undefined,
			};
		};
		const run = async (): Promise<void> => {
			timer = 0;
			if (!document.hidden) {
				try {
					await look();
				} catch (error) {
					if (!over) latest.current = { ...latest.current, error: asError(error) };
				}
				if (over) return;
				if (!still.current || latest.current.error) show(latest.current);
			}
			timer = window.setTimeout(() => void run(), latest.current.error ? AFTER_ERROR : EVERY);
		};
		void run();
		/* Something was changed: now, not in a second.  Without a timer it is being asked. */
		again.current = () => {
			if (!timer) return;
			clearTimeout(timer);
			void run();
		};
		return () => {
			over = true;
			clearTimeout(timer);
			abort.abort();
		};
	}, [id]);
	useEffect(() => {
		if (!paused) show(latest.current);
	}, [paused]);
	return { ...shown, again: () => again.current() };
}

/* 10 s, 250 ms: a setting in milliseconds, as short as it can be said. */
export const time = (ms: number): string =>
	ms % 1000 ? `${ms.toLocaleString("en-US")} ms` : `${(ms / 1000).toLocaleString("en-US")} s`;
