// SPDX-License-Identifier: MIT OR Apache-2.0
// What a right click on any graph offers: the questions that a moment and a range can be asked.
import { has } from "../views/names";
import { href, route } from "../app/url";
import type { Item } from "./menu";
import { withTerm } from "./terms";
import { duration } from "./units";

export function momentMenu(at: number, [from, to]: readonly [number, number]): Item[] {
	const s = (value: number): string => String(+value.toFixed(6));
	const { filter, at: moment } = route().parameters;
	const range = `${duration(from)} – ${duration(to)}`;
	const list = has("allocations") ? "allocations" : "flame";
	return [
		{ label: "Look at this moment", href: href({}, { at: s(at) }) },
		{
			label: "Flame graph of what is alive here",
			href: href({ view: "flame" }, { at: s(at), measure: "alive" }),
		},
		...(moment && Number(moment) !== at
			? [
					{
						label: "What changed from here to the moment",
						hint: duration(Number(moment)),
						href: href({ view: "flame" }, { measure: "alive", against: s(at) }),
					},
				]
			: []),
		{
			label: "Allocations alive here",
			href: href(
				{ view: list },
				{ at: s(at), filter: withTerm(filter, `alive_at(${s(at)}s)`) },
			),
		},
		{ label: "Memory maps then", href: href({ view: "maps" }, { at: s(at), filter: "" }) },
		{
			label: "Alive for the whole visible range",
			hint: range,
			href: href(
				{ view: list },
				{ filter: withTerm(filter, `alive_at(${s(from)}s) and alive_at(${s(to)}s)`) },
			),
		},
		{
			label: "Allocated within the visible range",
			hint: range,
			href: href({ view: list }, { from: s(from), to: s(to) }),
		},
	];
}
