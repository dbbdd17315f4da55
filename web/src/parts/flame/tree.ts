// SPDX-License-Identifier: MIT OR Apache-2.0
// The server's flat flame answer, laid out: where each box begins and how wide it is, in the unit
// of the answer, so that any stretch of it can be drawn.  Nodes come in the order of a walk
// (parents first, heaviest child first), so the boxes of one depth are in order from left to right.
import { KINDS, type FrameKind } from "../frames";
import type { Folded } from "./fold";

export interface FlameAnswer {
	measure: string;
	at_ns: number | null;
	weight: "bytes" | "count";
	direction: "down" | "up";
	total: { bytes: number; count: number };
	node_count: number;
	hidden_count: number;
	names: {
		text: string[];
		kind: number[];
		module: number[];
		file: number[];
		line: number[];
		colour: number[];
		whose: number[]; /* KINDS of ../frames.ts */
	};
	modules: string[];
	files: string[];
	nodes: {
		name: number[];
		parent: number[];
		depth: number[];
		value: number[];
		other: number[];
		self: number[];
		before?: number[];
	};
	against?: { id?: string; name?: string; measure?: string; at_ns?: number | null };
}

export const KIND = {
	root: 0,
	function: 1,
	thread: 2,
	others: 3,
	none: 4,
	address: 5,
	process: 6,
	folded: 7 /* made by fold.ts */,
} as const;

export const ROOT_HASH = 0x811c9dc5;
export function nameHash(text: string, seed: number): number {
	let h = seed;
	for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
	return h >>> 0;
}

/* How Tree.find() knows a box, by the names from the root ("all") on. */
export const pathKey = (names: readonly string[]): string =>
	names.reduce((h, name) => nameHash(name, h), ROOT_HASH).toString(36);

/* FNV's low bits depend on the last letters only. */
const mix = (h: number): number => (Math.imul(h ^ (h >>> 15), 0x2c1b3c6d) >>> 0) >>> 8;

export class Tree {
	readonly count: number;
	readonly left: Float64Array;
	readonly width: Float64Array;
	readonly levels: Int32Array[] = [];
	readonly colours: Int16Array; /* by name: hue * 9 + shade, or -1 for grey */
	/* of the names from the root: finds the same box in the next answer */
	readonly path: Uint32Array;
	readonly largest: number = 0; /* change, in a difference */
	/* levels below the root that all stacks have in common, but the last */
	readonly shared: number = 0;
	private byPath: Map<number, number> | undefined;
	private unfolded: Tree | undefined;

	constructor(
		readonly answer: FlameAnswer,
		readonly folded?: Folded,
	) {
		const { parent, depth, value, before, name } = answer.nodes,
			{ text } = answer.names;
		const n = (this.count = value.length);
		this.width = new Float64Array(n);
		this.left = new Float64Array(n);
		this.path = new Uint32Array(n);
		if (before) {
			/* What is gone is to be seen too: a box is as wide as the larger of both, and as its
			 * children. */
			const children = new Float64Array(n);
			for (let i = n - 1; i >= 0; i--) {
				this.width[i] = Math.max(value[i]!, before[i]!, children[i]!);
				if (i) children[parent[i]!]! += this.width[i]!;
				this.largest = Math.max(this.largest, Math.abs(value[i]! - before[i]!));
			}
		} else this.width.set(value);
		const sizes: number[] = [];
		for (let i = 0; i < n; i++) sizes[depth[i]!] = (sizes[depth[i]!] ?? 0) + 1;
		this.levels = sizes.map((size) => new Int32Array(size));
		const filled = sizes.map(() => 0),
			next = new Float64Array(n);
		for (let i = 0; i < n; i++) {
			const d = depth[i]!,
				p = parent[i]!;
			this.levels[d]![filled[d]!++] = i;
			if (i) {
				this.left[i] = next[p]!;
				next[p]! += this.width[i]!;
			}
			next[i] = this.left[i]!;
			this.path[i] = nameHash(text[name[i]!] ?? "", i ? this.path[p]! : ROOT_HASH);
		}
		/* By a hash, so that a module keeps its hue and a function its shade in every picture; the
		 * server says which are grey (libc, allocators). */
		const { colour, module, kind } = answer.names,
			hues = answer.modules.map((m) => mix(nameHash(m, ROOT_HASH)) % 24);
		this.colours = Int16Array.from(text, (t, i) =>
			(colour[i] ?? -1) < 0 || (kind[i] !== KIND.function && kind[i] !== KIND.address)
				? -1
				: hues[module[i] ?? 0]! * 9 + (mix(nameHash(t, ROOT_HASH)) % 9),
		);
		let lead = 0;
		while (lead + 1 < n && parent[lead + 1] === lead && this.width[lead + 1] === this.width[0])
			lead++;
		this.shared = Math.max(0, lead - 1);
	}

	text(i: number): string {
		const held = this.folded?.inside[i];
		if (held) return `+${held.length} ${this.placeOf(i)}`;
		return this.answer.names.text[this.answer.nodes.name[i]!] ?? "";
	}
	kind(i: number): number {
		return this.answer.names.kind[this.answer.nodes.name[i]!] ?? 0;
	}
	/* Of a folded box: on which side of the program's own frames. */
	private placeOf(i: number): string {
		const { direction } = this.answer,
			above = this.kind(this.parent(i)),
			first = above !== KIND.function && above !== KIND.address;
		if (first) return direction === "up" ? "inside" : "outside";
		if (this.child(i) < 0) return direction === "up" ? "outside" : "inside";
		return "between";
	}
	/* Names of the frames that a folded box holds, the heaviest first. */
	heldNames(i: number): string[] {
		const { inside, of } = this.folded ?? {};
		return [...new Set(inside?.[i]?.map((k) => of!.names.text[of!.nodes.name[k]!]!))];
	}
	whose(i: number): FrameKind {
		return KINDS[this.answer.names.whose[this.answer.nodes.name[i]!] ?? -1] ?? "program";
	}
	module(i: number): string {
		return this.answer.modules[this.answer.names.module[this.answer.nodes.name[i]!] ?? 0] ?? "";
	}
	place(i: number): string {
		const name = this.answer.nodes.name[i]!,
			{ file, line } = this.answer.names,
			path = this.answer.files[file[name] ?? 0];
		return path ? `${path}${line[name] ? `:${line[name]}` : ""}` : "";
	}
	parent(i: number): number {
		return this.answer.nodes.parent[i]!;
	}
	depth(i: number): number {
		return this.answer.nodes.depth[i]!;
	}
	value(i: number): number {
		return this.answer.nodes.value[i]!;
	}
	before(i: number): number {
		return this.answer.nodes.before?.[i] ?? 0;
	}
	bytes(i: number): number {
		return this.answer.weight === "bytes" ? this.value(i) : this.answer.nodes.other[i]!;
	}
	blocks(i: number): number {
		return this.answer.weight === "bytes" ? this.answer.nodes.other[i]! : this.value(i);
	}

	/* Names from the root to a box, without the root. */
	stack(i: number): string[] {
		const names: string[] = [];
		for (let at = i; at > 0; at = this.parent(at)) names.unshift(this.text(at));
		return names;
	}

	find(path: string | undefined): number {
		if (!path) return 0;
		if (!this.byPath) {
			this.byPath = new Map();
			for (let i = this.count - 1; i >= 0; i--) this.byPath.set(this.path[i]!, i);
		}
		return this.byPath.get(parseInt(path, 36)) ?? 0;
	}
	key(i: number): string {
		return i ? this.path[i]!.toString(36) : "";
	}

	/* Position in a level of the first box that ends right of x. */
	first(level: Int32Array, x: number): number {
		let low = 0,
			high = level.length;
		while (low < high) {
			const middle = (low + high) >> 1,
				i = level[middle]!;
			if (this.left[i]! + this.width[i]! <= x) low = middle + 1;
			else high = middle;
		}
		return low;
	}
	at(depth: number, x: number): number {
		const level = this.levels[depth];
		if (!level) return -1;
		const i = level[this.first(level, x)];
		return i !== undefined && this.left[i]! <= x && this.width[i]! > 0 ? i : -1;
	}
	child(i: number): number {
		return i + 1 < this.count && this.parent(i + 1) === i ? i + 1 : -1;
	}
	sibling(i: number, by: number): number {
		const level = this.levels[this.depth(i)]!;
		let low = 0,
			high = level.length - 1; /* nodes of a level are in order of their numbers too */
		while (low < high) {
			const middle = (low + high) >> 1;
			if (level[middle]! < i) low = middle + 1;
			else high = middle;
		}
		return level[low + by] ?? -1;
	}

	/* Boxes whose names fit, or that hold such, and how much of the whole lies below what fits
	 * (each stack once). */
	search(pattern: RegExp): { hits: Uint8Array; boxes: number; weight: number } {
		if (!this.folded) return this.searchAll(pattern);
		const whole = (this.unfolded ??= new Tree(this.folded.of)).searchAll(pattern),
			{ hits } = this.searchAll(pattern);
		this.folded.inside.forEach((held, i) => {
			if (held?.some((k) => whole.hits[k])) hits[i] = 1;
		});
		return { hits, boxes: hits.reduce((sum, hit) => sum + hit, 0), weight: whole.weight };
	}
	private searchAll(pattern: RegExp): { hits: Uint8Array; boxes: number; weight: number } {
		const { text } = this.answer.names,
			fits = text.map((t) => pattern.test(t));
		const hits = new Uint8Array(this.count),
			inside = new Uint8Array(this.count);
		let boxes = 0,
			weight = 0;
		for (let i = 1; i < this.count; i++) {
			inside[i] = inside[this.parent(i)]!;
			if (
				!fits[this.answer.nodes.name[i]!] ||
				this.kind(i) === KIND.others ||
				this.kind(i) === KIND.folded
			)
				continue;
			hits[i] = 1;
			boxes++;
			if (!inside[i]) {
				weight += this.value(i);
				inside[i] = 1;
			}
		}
		return { hits, boxes, weight };
	}
}

/* As a regular expression where it is one, else as it stands; case matters only where it is
 * mixed. */
export function searchPattern(text: string): RegExp | undefined {
	if (!text) return undefined;
	const flags = text === text.toLowerCase() ? "i" : "";
	try {
		return new RegExp(text, flags);
	} catch {
		return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), flags);
	}
}
