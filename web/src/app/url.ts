// SPDX-License-Identifier: MIT OR Apache-2.0
// The state of the page is its address: #/VIEW/RECORDING?key=value&…, and nothing else is kept
// anywhere but the colour theme.  Every view reads what it needs with useRoute() and writes with
// go(); a step that a reader would want to undo is a new entry of the history, what follows the
// mouse replaces the present one.
//
// Keys that every view shares: filter (the question), from, to (the brush), at (the moment), as
// seconds since the start; measure, weight (which bytes, or blocks); units=decimal.  A view's own keys are dropped when another is opened.
import { useEffect, useState } from "preact/hooks";

export type Parameters = Record<string, string>;
export interface Route {
	view: string;
	id: string;
	parameters: Parameters;
}

const SHARED = ["filter", "from", "to", "at", "measure", "weight", "units", "series"];

export function parse(hash: string): Route {
	const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
	const [view = "", id = ""] = path.split("/").map(decodeURIComponent);
	return { view: view || "recordings", id, parameters: Object.fromEntries(new URLSearchParams(query)) };
}

export function format(route: Route): string {
	const query = new URLSearchParams(Object.entries(route.parameters).filter(([, value]) => value !== "")).toString();
	const path = [route.view, route.id].filter(Boolean).map(encodeURIComponent).join("/");
	return `#/${path}${query ? `?${query}` : ""}`;
}

let current = parse(location.hash);
const listeners = new Set<() => void>();

function changed(): void {
	current = parse(location.hash);
	for (const listener of [...listeners]) listener();
}
addEventListener("popstate", changed);
addEventListener("hashchange", () => {
	if (format(parse(location.hash)) !== format(current)) changed();
});

export const route = (): Route => current;

/* What the address becomes when a view is opened with some keys changed; "" removes a key. */
export function href(change: Partial<Pick<Route, "view" | "id">>, parameters: Parameters = {}): string {
	const same = (change.view ?? current.view) === current.view && (change.id ?? current.id) === current.id;
	const sameRecording = (change.id ?? current.id) === current.id;
	const kept = Object.entries(current.parameters).filter(([key]) => same || key === "units" || (sameRecording && SHARED.includes(key)));
	return format({ view: change.view ?? current.view, id: change.id ?? current.id, parameters: { ...Object.fromEntries(kept), ...parameters } });
}

export function goTo(address: string, replace = false): void {
	if (address === location.hash) return;
	if (replace) history.replaceState(null, "", address);
	else history.pushState(null, "", address);
	changed();
}

/* Changes keys of the present view. */
export function go(parameters: Parameters, replace = false): void {
	goTo(href({}, parameters), replace);
}

export function useRoute(): Route {
	const [seen, set] = useState(current);
	useEffect(() => {
		const listener = (): void => set(current);
		listeners.add(listener);
		listener();
		return () => {
			listeners.delete(listener);
		};
	}, []);
	return seen;
}
