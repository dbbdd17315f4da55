// SPDX-License-Identifier: MIT OR Apache-2.0
// Stacks as the API has them, and what is left of one when it shall fit into a line.
//
// The rule.  Frames that start a thread or a program say nothing, nor do those of the language's
// own library and of wrappers around the allocator, unless nothing else is there.  Of the others
// these stay: the two innermost (who asks for memory), the outermost (which part of the program),
// and up to two in between where paths part: a frame through which far fewer allocations go than
// through its caller decides, one with as many is a corridor.  A gap says how many frames are not
// shown.
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
}

const START =
	/^(_start|__libc_start_(main|call_main)\S*|(__)?start_thread|(__)?clone3?|_dl_start\S*|thread_start)$/;
const PLUMBING =
	/^(void\* |void )?(std::|__gnu_cxx::|__cxxabi|boost::|operator new|alloc::|core::|hashbrown::|__rust_|__rdl_|_rjem_|je_|g_(m|re|c|slice_)?alloc|g_malloc|g_realloc|g_try_|xstrdup|[xz](try)?(m|c|re)alloc|(__)?strn?dup|v?asprintf|__vasprintf|_IO_)/;
const INNER = 2,
	BETWEEN = 2;

/* The last one is the call that was intercepted. */
export const callOf = (frames: readonly Frame[]): string =>
	frames[frames.length - 1]?.function ?? "";

const says = (frame: Frame): boolean => frame.function !== undefined && !START.test(frame.function);
const plain = (frame: Frame): boolean => says(frame) && !PLUMBING.test(frame.function!);

export interface Link {
	frame: Frame;
	skipped: number; /* frames between this one and the one before (which is further inside) */
}

/* What stays, innermost first. */
export function abbreviate(frames: readonly Frame[]): Link[] {
	const inside = frames.slice(0, -1);
	const pick = (test: (f: Frame) => boolean): number[] =>
		inside.map((_, i) => i).filter((i) => test(inside[i]!));
	let places = pick(plain);
	if (!places.length) places = pick(says);
	if (!places.length) places = inside.map((_, i) => i);
	if (!places.length)
		return frames.length ? [{ frame: frames[frames.length - 1]!, skipped: 0 }] : [];
	const keep = new Set([places[0]!, ...places.slice(-INNER)]);
	const parts = places
		.slice(1, -INNER)
		.map((place, i) => ({
			place,
			part: inside[place]!.count / Math.max(1, inside[places[i]!]!.count),
		}))
		.filter((p) => p.part < 0.8)
		.sort((a, b) => a.part - b.part || b.place - a.place);
	for (const { place } of parts.slice(0, BETWEEN)) keep.add(place);
	const order = [...keep].sort((a, b) => b - a);
	return order.map((place, i) => ({
		frame: inside[place]!,
		skipped: i ? order[i - 1]! - place - 1 : 0,
	}));
}

/* Who asks: the innermost frame that is not plumbing. */
export const asker = (frames: readonly Frame[]): Frame | undefined => abbreviate(frames)[0]?.frame;

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
