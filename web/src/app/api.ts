// SPDX-License-Identifier: MIT OR Apache-2.0
// Questions to the server.  ask() is one request; answers are kept (the newest CACHE of them) and a
// request that nobody waits for any more is cancelled.  useAnswer() is what views call: it keeps
// the last answer on the screen until the next is there, and says "busy" only after 200 ms.  What
// is no part of the view's own answer is asked "later": the server then has time for the rest
// first.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Endpoints, Nothing } from "./endpoints";
import type { Api } from "./types";

export class ApiError extends Error {
	constructor(
		readonly status: number,
		message: string,
		readonly parameter?: string,
		readonly position?: number,
	) {
		super(message);
	}
}

export type Path = keyof Endpoints;

/* The words of a path in braces: "format" of "/data/{id}/export/{format}", and "id". */
type WordsIn<P extends string> = P extends `${string}{${infer Word}}${infer Rest}`
	? (Word extends `${infer Name}*` ? Name : Word) | WordsIn<Rest>
	: never;
export type Words<P extends Path> = Record<WordsIn<P>, string | number>;

/* What a path is asked with: its parameters, those that it must have, and no others.  An object
 * that is spread into a query is looked at, too. */
export type Query<P extends Path, Q> = Q & Record<Exclude<keyof Q, keyof Endpoints[P]>, undefined>;

/* What url() made; nothing else is sent. */
declare const made: unique symbol;
export type Address = string & { [made]: true };

/* A path of the API with its words and parameters; empty ones are left out. */
export function url<P extends Path, Q extends Endpoints[P]>(
	path: P,
	...[words, query]: Nothing extends Endpoints[P]
		? Nothing extends Words<P>
			? [words?: Words<P>, query?: Query<P, Q>]
			: [words: Words<P>, query?: Query<P, Q>]
		: [words: Words<P>, query: Query<P, Q>]
): Address {
	/* A word that ends with * may have slashes in it. */
	const filled = path.replace(/\{(\w+)(\*?)\}/g, (_, word: string, rest: string) => {
		const text = encodeURIComponent(String((words as Record<string, unknown>)[word]));
		return rest ? text.replaceAll("%2F", "/") : text;
	});
	const pairs = Object.entries(query ?? {})
		.filter(([, v]) => v !== undefined && v !== "")
		.map(([k, v]) => [k, String(v)]);
	const text = new URLSearchParams(pairs as [string, string][]).toString();
	return (text ? `${filled}?${text}` : filled) as Address;
}

async function fail(response: Response): Promise<never> {
	let said: { error?: string; parameter?: string; position?: number } = {};
	try {
		said = await response.json();
	} catch {
		/* not ours: a proxy's page */
	}
	throw new ApiError(
		response.status,
		said.error ?? `the server answered ${response.status} ${response.statusText}`,
		said.parameter,
		said.position,
	);
}

export async function send(address: Address, options: RequestInit = {}): Promise<Response> {
	let response: Response;
	try {
		response = await fetch(address, { credentials: "same-origin", ...options });
	} catch (error) {
		if (error instanceof DOMException && error.name === "AbortError") throw error;
		throw new ApiError(0, "The server does not answer; is memoir server still running?");
	}
	return response.ok ? response : fail(response);
}

const CACHE = 60;
const answers = new Map<string, unknown>();
interface Pending {
	promise: Promise<unknown>;
	abort: AbortController;
	waiting: number;
}
const pending = new Map<string, Pending>();

export function forget(prefix = ""): void {
	for (const key of [...answers.keys()]) if (key.startsWith(prefix)) answers.delete(key);
}

function remember(address: string, answer: unknown): void {
	answers.delete(address);
	answers.set(address, answer);
	if (answers.size > CACHE) answers.delete(answers.keys().next().value as string);
}

/* RFC 9218: it can wait. */
const LATER = { Priority: "u=6" };

/* Asks once however many wait; the returned function says that this caller no longer does. */
export function ask<T>(
	address: Address,
	later = false,
): { answer: Promise<T>; cancel: () => void } {
	let found = pending.get(address);
	if (!found) {
		const abort = new AbortController();
		const promise = send(address, {
			signal: abort.signal,
			...(later ? { headers: LATER } : {}),
		})
			.then((response) => response.json())
			.then((answer: unknown) => {
				remember(address, answer);
				return answer;
			})
			.finally(() => {
				if (pending.get(address) === found) pending.delete(address);
			});
		promise.catch(() => {});
		found = { promise, abort, waiting: 0 };
		pending.set(address, found);
	}
	const mine = found;
	mine.waiting++;
	let left = false;
	return {
		answer: mine.promise as Promise<T>,
		cancel() {
			if (left) return;
			left = true;
			if (--mine.waiting === 0 && pending.get(address) === mine) {
				pending.delete(address);
				mine.abort.abort();
			}
		},
	};
}

/* What an answer that is not there yet was asked by, and when (performance.now()). */
export interface Wait {
	address: Address;
	since: number;
}

export interface Answer<T> {
	data: T | undefined; /* of the address before while a new one is on its way */
	error: ApiError | undefined;
	busy: boolean; /* for 200 ms and more */
	fresh: boolean; /* data belongs to the address that was asked for */
	wait?: Wait | undefined; /* while busy */
	retry: () => void;
}

export interface Manner {
	every?: number; /* asks again after so many milliseconds */
	later?: boolean; /* it can wait */
}

/* null asks nothing. */
export function useAnswer<T>(
	address: Address | null,
	{ every = 0, later = false }: Manner = {},
): Answer<T> {
	const [, redraw] = useState(0);
	const kept = useRef<{
		address: string | null;
		data?: T;
		error?: ApiError;
		failed?: string;
		busy: boolean;
		turn: number;
		since: number;
	}>({ address: null, busy: false, turn: 0, since: 0 });
	const [turn, setTurn] = useState(0);
	const state = kept.current;
	if (address !== null && answers.has(address) && state.address !== address) {
		state.data = answers.get(address) as T;
		state.address = address;
		state.error = undefined;
	}
	useEffect(() => {
		if (address === null) return;
		if (answers.has(address) && !every && turn === state.turn) {
			/* Somebody else's answer may have come since this was drawn. */
			if (state.address !== address) redraw((n) => n + 1);
			return;
		}
		state.turn = turn;
		let over = false;
		let again = 0;
		let stop = (): void => {};
		const run = (): void => {
			state.since = performance.now();
			const slow = setTimeout(() => {
				state.busy = true;
				if (!over) redraw((n) => n + 1);
			}, 200);
			const { answer, cancel } = ask<T>(address, later);
			stop = () => {
				clearTimeout(slow);
				cancel();
			};
			answer
				.then(
					(data) => {
						if (!over) Object.assign(state, { data, address, error: undefined });
					},
					(error: unknown) => {
						if (!over)
							Object.assign(state, {
								error:
									error instanceof ApiError
										? error
										: new ApiError(0, String(error)),
								failed: address,
							});
					},
				)
				.finally(() => {
					clearTimeout(slow);
					if (over) return;
					state.busy = false;
					redraw((n) => n + 1);
					if (every) again = window.setTimeout(run, every);
				});
		};
		run();
		return () => {
			over = true;
			state.busy = false;
			clearTimeout(again);
			stop();
		};
	}, [address, turn, every]);
	return {
		data: address === null ? undefined : state.data,
		error:
			state.failed === address
				? state.error
				: undefined /* of another question it says nothing */,
		busy: state.busy,
		fresh: state.address === address,
		wait: state.busy && address !== null ? { address, since: state.since } : undefined,
		retry: () => {
			if (address !== null) answers.delete(address);
			state.error = undefined;
			setTurn((n) => n + 1);
		},
	};
}

export const useApi = (): Answer<Api> => useAnswer<Api>(url("/api"));
