// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows of a long list that the server has sorted: pages are asked for as the table shows them, what
// was scrolled past is cancelled, and the newest pages are kept.  Rows of the question before stay
// on the screen until the first page of the new one is there.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, ask, type Address, type Answer, type Path, type Query } from "../app/api";
import type { Endpoints } from "../app/endpoints";
import { dataUrl, useRecordings } from "../app/recordings";

const KEPT = 60; /* pages */
const LOADED = 1000; /* rows of a request that fills a file */
/* ms that a range has to stay in view: a scroll bar that is dragged asks little */
const PAUSE = 40;

/* What a table wants of them. */
interface Rows<Row> {
	subject: string; /* what is on the screen belongs to this question */
	count: number;
	row: (index: number) => Row | undefined;
	onRange: (from: number, to: number) => void;
	load: (from: number, to: number) => Promise<Row[]>;
}

export interface Pages<A, Row> extends Rows<Row> {
	rows: Rows<Row>;
	answer: Answer<A>; /* the first page, for totals, errors and the frame of the view */
}

interface Held<A, Row> {
	subject: string;
	first: A;
	count: number;
	pages: Map<number, Row[]>;
}

/* The question without the version of a recording that grows. */
const plainly = (subject: string): string => subject.replace(/#\d+$/, "");

/* Whether something has been so for a while: what is dear is asked for when a reader stays. */
export function useSettled(so: boolean, ms: number): boolean {
	const [settled, setSettled] = useState(false);
	useEffect(() => {
		setSettled(false);
		if (!so) return undefined;
		const timer = setTimeout(() => setSettled(true), ms);
		return () => clearTimeout(timer);
	}, [so, ms]);
	return so && settled;
}

/* A heading's "-size" as parameters.  What an address says is passed on: the server says what is
 * wrong with it. */
export const sortedBy = <Sort extends string>(
	sort: string,
): { sort_by: Sort; order: "asc" | "dsc" } => ({
	sort_by: sort.replace(/^-/, "") as Sort,
	order: sort.startsWith("-") ? "dsc" : "asc",
});

type Paged = {
	[P in Path]: Endpoints[P] extends { skip?: number; count?: number }
		? "skip" extends keyof Endpoints[P]
			? P
			: never
		: never;
}[Path];

/* path null asks nothing.  pick: the rows of an answer and how many there are in all. */
export function usePages<A, Row, P extends Paged, Q extends Endpoints[P]>(
	id: string,
	path: P | null,
	query: Query<P, Q>,
	pick: (answer: A) => { rows: Row[]; count: number },
	size = 60,
	later = false,
): Pages<A, Row> {
	useRecordings();
	const part = (range: { skip?: number; count?: number }): Address =>
		dataUrl<Paged, object>(id, path!, { ...query, ...range });
	const subject = path === null ? "" : part({});
	const held = useRef<Held<A, Row> | undefined>(undefined);
	const wanted = useRef({ from: 0, to: size });
	const running = useRef(new Map<number, () => void>());
	const [, redraw] = useState(0);
	const [turn, setTurn] = useState(0);
	const state = useRef<{ error: ApiError | undefined; busy: boolean; since: number }>({
		error: undefined,
		busy: false,
		since: 0,
	});
	const address = (page: number): Address => part({ skip: page * size, count: size });

	useEffect(() => {
		if (path === null) return;
		/* The table goes to its top: what was in view before is not asked for again. */
		if (plainly(subject) !== plainly(held.current?.subject ?? ""))
			wanted.current = { from: 0, to: size };
		let over = false;
		state.current.since = performance.now();
		const slow = setTimeout(() => {
			state.current.busy = true;
			redraw((n) => n + 1);
		}, 200);
		const { answer, cancel } = ask<A>(address(0), later);
		answer
			.then(
				(first) => {
					if (over) return;
					const { rows, count } = pick(first);
					held.current = { subject, first, count, pages: new Map([[0, rows]]) };
					state.current.error = undefined;
					onRange(wanted.current.from, wanted.current.to);
				},
				(error: unknown) => {
					if (!over)
						state.current.error =
							error instanceof ApiError ? error : new ApiError(0, String(error));
				},
			)
			.finally(() => {
				clearTimeout(slow);
				if (over) return;
				state.current.busy = false;
				redraw((n) => n + 1);
			});
		return () => {
			over = true;
			clearTimeout(slow);
			state.current.busy = false;
			cancel();
			for (const stop of running.current.values()) stop();
			running.current.clear();
		};
	}, [subject, turn]);

	const fetchPage = (page: number): void => {
		const mine = held.current;
		if (!mine || mine.subject !== subject || mine.pages.has(page) || running.current.has(page))
			return;
		const { answer, cancel } = ask<A>(address(page), later);
		running.current.set(page, cancel);
		answer
			.then(
				(more) => {
					if (held.current !== mine) return;
					mine.pages.delete(page);
					mine.pages.set(page, pick(more).rows);
					for (const old of mine.pages.keys()) {
						if (mine.pages.size <= KEPT) break;
						if (old !== 0) mine.pages.delete(old);
					}
				},
				(error: unknown) => {
					if (held.current === mine && error instanceof ApiError)
						state.current.error = error;
				},
			)
			.finally(() => {
				running.current.delete(page);
				redraw((n) => n + 1);
			});
	};
	const timer = useRef(0);
	useEffect(() => () => clearTimeout(timer.current), []);
	const onRange = useCallback(
		(from: number, to: number): void => {
			wanted.current = { from, to };
			clearTimeout(timer.current);
			timer.current = window.setTimeout(() => {
				const first = Math.floor(from / size),
					last = Math.floor(Math.max(from, to - 1) / size);
				for (const [page, stop] of running.current) {
					if (page < first || page > last) {
						stop();
						running.current.delete(page);
					}
				}
				for (let page = first; page <= last; page++) fetchPage(page);
			}, PAUSE);
		},
		[subject],
	);

	const mine = held.current;
	const load = async (from: number, to: number): Promise<Row[]> => {
		const rows: Row[] = [];
		for (let skip = from; skip < to; skip += LOADED) {
			rows.push(
				...pick(await ask<A>(part({ skip, count: Math.min(LOADED, to - skip) })).answer)
					.rows,
			);
		}
		return rows;
	};
	const rows: Rows<Row> = {
		subject: plainly(mine?.subject ?? ""),
		count: path === null ? 0 : (mine?.count ?? 0),
		row: (index) => mine?.pages.get(Math.floor(index / size))?.[index % size],
		onRange,
		load,
	};
	return {
		...rows,
		rows,
		answer: {
			data: path === null ? undefined : mine?.first,
			error: state.current.error,
			busy: state.current.busy,
			fresh: mine?.subject === subject && !state.current.error,
			wait:
				state.current.busy && path !== null
					? { address: address(0), since: state.current.since }
					: undefined,
			retry: () => {
				state.current.error = undefined;
				setTurn((n) => n + 1);
			},
		},
	};
}
