// SPDX-License-Identifier: MIT OR Apache-2.0
// What an address of the page means: #/VIEW/RECORDING?key=value&…  Nothing here knows a browser:
// the present route is what url.ts said last.
//
// Keys that every view shares: filter (the question), hide and own (whose frames are), from, to
// (the brush), at (the moment), as seconds since the start; measure, weight (which bytes, or
// blocks); units=decimal; series.  A view's own keys are dropped when another is opened.
export type Parameters = Record<string, string>;
export interface Route {
	view: string;
	id: string;
	parameters: Parameters;
}

const SHARED = [
	"filter",
	"hide",
	"own",
	"from",
	"to",
	"at",
	"measure",
	"weight",
	"units",
	"series",
];

/* Of an address that was cut, as it stands. */
function decoded(part: string): string {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}

export function parse(hash: string): Route {
	const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
	const [view = "", id = ""] = path.split("/").map(decoded);
	return {
		view: view || "recordings",
		id,
		parameters: Object.fromEntries(new URLSearchParams(query)),
	};
}

export function format(route: Route): string {
	const query = new URLSearchParams(
		Object.entries(route.parameters).filter(([, value]) => value !== ""),
	).toString();
	const path = [route.view, route.id].filter(Boolean).map(encodeURIComponent).join("/");
	return `#/${path}${query ? `?${query}` : ""}`;
}

let current = parse("");

export const route = (): Route => current;
export const setRoute = (next: Route): void => {
	current = next;
};

/* What the address becomes when a view is opened with some keys changed; "" removes a key. */
export function href(
	change: Partial<Pick<Route, "view" | "id">>,
	parameters: Parameters = {},
): string {
	const same =
		(change.view ?? current.view) === current.view && (change.id ?? current.id) === current.id;
	const sameRecording = (change.id ?? current.id) === current.id;
	const kept = Object.entries(current.parameters).filter(
		([key]) => same || key === "units" || (sameRecording && SHARED.includes(key)),
	);
	return format({
		view: change.view ?? current.view,
		id: change.id ?? current.id,
		parameters: { ...Object.fromEntries(kept), ...parameters },
	});
}
