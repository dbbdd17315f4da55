// SPDX-License-Identifier: MIT OR Apache-2.0
// What a script puts out, as it comes: one JSON object a line, in pieces that end anywhere.
export interface Link {
	text: string;
	filter?: string; /* what is in the list; absent: it takes too many words */
	recording?: string;
}
export type Cell = string | number | boolean | null | Link | object;

export interface Rows {
	columns: string[];
	rows: Record<string, Cell>[];
}

export type Item =
	| { kind: "println"; value: string; links?: Link[] }
	| { kind: "table"; table: Rows }
	| { kind: "image" | "file"; url: string; basename: string; size: number };

export interface End {
	kind: "end";
	status: "ok" | "error";
	message?: string;
	line?: number | null;
	column?: number | null;
	elapsed: number;
}

/* Takes pieces of text, and gives what whole lines say. */
export class Lines {
	private rest = "";
	take(piece: string): (Item | End)[] {
		const lines = (this.rest + piece).split("\n");
		this.rest = lines.pop() ?? "";
		return lines.filter(Boolean).map((line) => JSON.parse(line) as Item | End);
	}
}

/* What is shown as one: neighbouring lines are a text. */
export interface Text {
	kind: "text";
	lines: { value: string; links: Link[] }[];
}
export type Block = Text | Exclude<Item, { kind: "println" }>;

/* Adds items to blocks; a text that grows is a new object, so that it is drawn again. */
export function add(blocks: Block[], items: readonly Item[]): Block[] {
	const all = [...blocks];
	for (const item of items) {
		const last = all.at(-1);
		if (item.kind !== "println") all.push(item);
		else {
			const line = { value: item.value, links: item.links ?? [] };
			if (last?.kind === "text" && !blocks.includes(last)) last.lines.push(line);
			else if (last?.kind === "text")
				all[all.length - 1] = { kind: "text", lines: [...last.lines, line] };
			else all.push({ kind: "text", lines: [line] });
		}
	}
	return all;
}

/* A line in parts: plain text, and links in the order in which they stand in it. */
export function parts(value: string, links: readonly Link[]): (string | Link)[] {
	const found: (string | Link)[] = [];
	let at = 0;
	for (const link of links) {
		const from = value.indexOf(link.text, at);
		if (from < 0) continue;
		if (from > at) found.push(value.slice(at, from));
		found.push(link);
		at = from + link.text.length;
	}
	if (at < value.length) found.push(value.slice(at));
	return found;
}
