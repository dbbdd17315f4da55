// SPDX-License-Identifier: MIT OR Apache-2.0
// Whose frame is it, beyond what the server's rules say: the expressions `hide` and `own` of the
// address, which every question takes.  Each is a list of conditions on frames with "or" between
// them; a menu adds one, a label below the question takes it away.
import { href, route } from "../app/route";
import { shortName } from "./frames";
import type { Item } from "./menu";
import { alternatives, quote } from "./terms";

export type Whose = "hide" | "own";

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/* What a function's name begins with, its namespace; "" where it has none. */
export function namespaceOf(name: string): string {
	const go = /^([\w.~-]+(?:\/[\w.~-]+)*)\.[(\w]/.exec(name);
	if (go && (go[1]!.includes("/") || name.includes(".(*"))) return go[1]!;
	/* What is in front of a template's name is its return type. */
	const own = shortName(name)
		.replace(/^.* (?=[\w~<]+…?>?::)/, "")
		.replace(/^<+/, "");
	const at = own.indexOf("::");
	return at > 0 && /^[\w~]+$/.test(own.slice(0, at)) ? own.slice(0, at) : "";
}

export const functionFrame = (name: string): string => `function = ${quote(name)}`;
export const moduleFrame = (module: string): string =>
	`module = ${quote(module.slice(module.lastIndexOf("/") + 1))}`;
export const namespaceFrame = (namespace: string): string =>
	`function ~ ${quote(
		namespace.includes("/") || namespace.includes(".")
			? `^${escaped(namespace)}\\.`
			: `(^|[ <&*(])${escaped(namespace)}::`,
	)}`;

/* Both lists after a frame was put into one of them. */
export function withFrame(
	lists: Partial<Record<Whose, string>>,
	to: Whose,
	term: string,
): Record<Whose, string> {
	const list = (which: Whose): string[] =>
		alternatives(lists[which] ?? "").filter((t) => t !== term);
	return {
		hide: [...list("hide"), ...(to === "hide" ? [term] : [])].join(" or "),
		own: [...list("own"), ...(to === "own" ? [term] : [])].join(" or "),
	};
}

export const withoutFrame = (list: string, index: number): string =>
	alternatives(list)
		.filter((_, i) => i !== index)
		.join(" or ");

/* A function as a row has it, where it may be an address in a module: that has no name. */
export const nameOf = (text: string): string | undefined =>
	/^(\S*\+)?0x[0-9a-f]+$/.test(text) ? undefined : text;

/* What a menu offers about a frame.  mine: it counts as the program's now. */
export function whoseItems(
	frame: { name?: string | undefined; module?: string | undefined },
	mine: boolean,
): Item[] {
	const item = (label: string, to: Whose, term: string, hint = ""): Item => ({
		label,
		...(hint ? { hint } : {}),
		href: href({}, { ...withFrame(route().parameters, to, term), zoom: "", open: "" }),
	});
	const items: Item[] = [];
	const { name, module } = frame,
		namespace = name ? namespaceOf(name) : "";
	if (name && mine) items.push(item("Hide this function", "hide", functionFrame(name)));
	if (namespace && mine)
		items.push(item("Hide this namespace", "hide", namespaceFrame(namespace), namespace));
	if (module && mine)
		items.push(
			item(
				"Hide this module",
				"hide",
				moduleFrame(module),
				module.slice(module.lastIndexOf("/") + 1),
			),
		);
	if (!mine && (name || module))
		items.push(
			item("Treat as my own", "own", name ? functionFrame(name) : moduleFrame(module!)),
		);
	return items;
}
