// SPDX-License-Identifier: MIT OR Apache-2.0
// Links that ask further: the present question with a term more, in this view or another.
import { href, route, type Parameters } from "../app/route";
import { quote, withTerm } from "./terms";

/* An address.  more: keys that change with it. */
export function adding(term: string, view?: string, more: Parameters = {}): string {
	return href(view ? { view } : {}, {
		filter: withTerm(route().parameters["filter"], term),
		...more,
	});
}

/* The same of all: what was asked and chosen in the timeline is left behind. */
export function alone(term: string, view: string, more: Parameters = {}): string {
	return href({ view }, { filter: term, from: "", to: "", at: "", ...more });
}

export const functionTerm = (name: string): string => `function = ${quote(name)}`;
export const sourceTerm = (path: string): string => `source = ${quote(path)}`;
export const stackTerm = (id: number): string => `backtrace = ${id}`;
export const threadTerm = (thread: number): string => `thread = ${thread}`;
export const addressTerm = (from: number, to: number): string =>
	`address >= 0x${from.toString(16)} and address < 0x${to.toString(16)}`;

/* "from … to" of anything that is compared; null: open at that end. */
export function rangeTerm(
	field: string,
	from: number | null,
	to: number | null,
	unit = "",
): string {
	const low = from ? `${field} >= ${from}${unit}` : "",
		high = to === null ? "" : `${field} < ${to}${unit}`;
	return [low, high].filter(Boolean).join(" and ");
}
export const lineTerm = (path: string, line: number): string =>
	`source = ${quote(`${path}:${line}`)}`;
