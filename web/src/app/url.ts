// SPDX-License-Identifier: MIT OR Apache-2.0
// The state of the page is its address (route.ts says what one means), and nothing else is kept
// anywhere but the colour theme.  Every view reads what it needs with useRoute() and writes with
// go(); a step that a reader would want to undo is a new entry of the history, what follows the
// mouse replaces the present one.
import { useEffect, useState } from "preact/hooks";
import { format, href, parse, route, setRoute, type Parameters, type Route } from "./route";

export { href, route, type Parameters };

setRoute(parse(location.hash));
const listeners = new Set<() => void>();

function changed(): void {
	setRoute(parse(location.hash));
	for (const listener of [...listeners]) listener();
}
addEventListener("popstate", changed);
addEventListener("hashchange", () => {
	if (format(parse(location.hash)) !== format(route())) changed();
});

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
	const [seen, set] = useState(route);
	useEffect(() => {
		const listener = (): void => set(route());
		listeners.add(listener);
		listener();
		return () => {
			listeners.delete(listener);
		};
	}, []);
	return seen;
}
