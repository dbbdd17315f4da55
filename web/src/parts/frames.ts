// SPDX-License-Identifier: MIT OR Apache-2.0
// Stacks as the API has them, and what is left of one when it shall fit into a line.
//
// The rule.  The responsible frame leads (the server says whose each frame is): the innermost one
// of the program's, or what says most where there is none.  Outwards from it the program's own
// stay: the next one, the outermost (which part of the program), and up to two in between where
// paths part: a frame through which far fewer allocations go than through its caller decides, one
// with as many is a corridor.  A gap says how many frames are not shown, and so does the end how
// many are inside.
import { FRAME_KINDS } from "../app/endpoints";

export const KINDS = FRAME_KINDS;
export type FrameKind = (typeof KINDS)[number];

export interface Frame {
	address: number;
	address_s: string;
	count: number;
	library?: string;
	function?: string;
	name?: string; /* of a frame whose function is not known: library+0xoffset */
	raw_function?: string;
	source?: string;
	line?: number;
	column?: number;
	is_inline: boolean;
	kind: FrameKind;
}

const INNER = 2,
	BETWEEN = 2;

/* The last one is the call that was intercepted. */
export const callOf = (frames: readonly Frame[]): string =>
	frames[frames.length - 1]?.function ?? "";

/* Where the responsible frame stands; -1: there is nothing but the call. */
function lead(frames: readonly Frame[]): number {
	let best = -1;
	for (let i = frames.length - 2; i >= 0; i--)
		if (best < 0 || KINDS.indexOf(frames[i]!.kind) > KINDS.indexOf(frames[best]!.kind))
			best = i;
	return best;
}

export interface Link {
	frame: Frame;
	skipped: number; /* frames between this one and the one before (which is further inside) */
}

/* What stays, innermost first. */
export function abbreviate(frames: readonly Frame[]): Link[] {
	const first = lead(frames);
	if (first < 0) return frames.length ? [{ frame: frames[frames.length - 1]!, skipped: 0 }] : [];
	const places: number[] = [];
	for (let i = 0; i <= first; i++)
		if (i === first || frames[i]!.kind === "program") places.push(i);
	const keep = new Set([places[0]!, ...places.slice(-INNER)]);
	const parts = places
		.slice(1, -INNER)
		.map((place, i) => ({
			place,
			part: frames[place]!.count / Math.max(1, frames[places[i]!]!.count),
		}))
		.filter((p) => p.part < 0.8)
		.sort((a, b) => a.part - b.part || b.place - a.place);
	for (const { place } of parts.slice(0, BETWEEN)) keep.add(place);
	const order = [...keep].sort((a, b) => b - a);
	return order.map((place, i) => ({
		frame: frames[place]!,
		skipped: i ? order[i - 1]! - place - 1 : 0,
	}));
}

/* How many frames are between the responsible one and the call. */
export const insideOf = (frames: readonly Frame[]): number => {
	const first = lead(frames);
	return first < 0 ? 0 : frames.length - 2 - first;
};

/* Who asks: the responsible frame. */
export const asker = (frames: readonly Frame[]): Frame | undefined => abbreviate(frames)[0]?.frame;

/* A whole stack, the innermost first: what is not the program's own in runs that can be counted.
 * The call and the responsible frame are shown in any case, and so is a run of one. */
export type Run = { frame: Frame; hidden?: undefined } | { frame?: undefined; hidden: Frame[] };
export function runs(frames: readonly Frame[]): Run[] {
	const first = lead(frames),
		found: Run[] = [];
	let hidden: Frame[] = [];
	const close = (): void => {
		if (hidden.length > 1) found.push({ hidden });
		else found.push(...hidden.map((frame) => ({ frame })));
		hidden = [];
	};
	for (let i = frames.length - 1; i >= 0; i--) {
		const frame = frames[i]!;
		if (frame.kind === "program" || i === first || i === frames.length - 1) {
			close();
			found.push({ frame });
		} else hidden.push(frame);
	}
	close();
	return found;
}

export const fileName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
export const frameName = (frame: Frame): string =>
	frame.function ?? frame.name ?? `0x${frame.address.toString(16)}`;
export const framePlace = (frame: Frame): string =>
	frame.source
		? `${fileName(frame.source)}${frame.line ? `:${frame.line}` : ""}`
		: frame.library && frame.function
			? fileName(frame.library)
			: "";

/* A function without its parameters and what templates were made for: for places without room. */
export function shortName(name: string): string {
	let depth = 0,
		text = "";
	for (const c of name.replace(
		/operator(<<|<=>|<=|<|>>|>=|->|>)/g,
		(_, o: string) => `operator\u0001${o.length}`,
	)) {
		if (c === "<") {
			if (depth++ === 0) text += "<…>";
		} else if (c === ">") depth = Math.max(0, depth - 1);
		else if (!depth) text += c;
	}
	const open = text.indexOf("(", text.startsWith("(anonymous") ? 1 : 0);
	if (open > 0 && !text.slice(0, open).includes("(anonymous")) text = text.slice(0, open);
	return text.includes("\u0001") || !text ? name : text;
}
