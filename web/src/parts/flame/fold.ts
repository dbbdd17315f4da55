// SPDX-License-Identifier: MIT OR Apache-2.0
// A flame graph in the user's own names: runs of frames that are not the program's (the server says
// whose each is) become one box each, which says how many it holds.  A box that is opened shows its
// frames as they are.
//
// Frames that meet in a box are put together, and so is what continues outside it: a function that
// two containers call is one box.  A stack without any frame of the program keeps its responsible
// one, which is what says most (../frames.ts has the order).
import { KINDS } from "../frames";
import { KIND, nameHash, ROOT_HASH, type FlameAnswer } from "./tree";

/* What the name of such a box is in the hashes that boxes are known by. */
const FOLDED_TEXT = "⋯";

export interface Folded {
	answer: FlameAnswer;
	of: FlameAnswer;
	/* By node of the answer: the nodes of the unfolded one that it holds; undefined: it is one. */
	inside: (number[] | undefined)[];
	/* By node: the key of the box that was opened to show it. */
	opened: (string | undefined)[];
	cells: number;
}

/* By node of an answer: it is the responsible frame of a stack that has none of the program. */
function spared(answer: FlameAnswer, whose: readonly number[]): Uint8Array {
	const { parent, name, self } = answer.nodes,
		{ kind } = answer.names,
		n = parent.length,
		mine = KINDS.indexOf("program");
	const isFrame = (i: number): boolean =>
		kind[name[i]!] === KIND.function || kind[name[i]!] === KIND.address;
	const has = new Uint8Array(n) /* a frame of the program above it, or itself */,
		leaf = new Uint8Array(n).fill(1),
		keep = new Uint8Array(n);
	for (let i = 1; i < n; i++) {
		leaf[parent[i]!] = 0;
		has[i] = has[parent[i]!]! | (isFrame(i) && whose[name[i]!] === mine ? 1 : 0);
	}
	for (let i = 1; i < n; i++) {
		if (has[i] || (!leaf[i] && !self[i])) continue;
		let best = -1;
		/* Innermost first, whichever way the tree grows. */
		for (let at = i; at > 0; at = parent[at]!) {
			const better =
				best < 0 ||
				(answer.direction === "up"
					? whose[name[at]!]! >= whose[name[best]!]!
					: whose[name[at]!]! > whose[name[best]!]!);
			if (isFrame(at) && better) best = at;
		}
		if (best > 0) keep[best] = 1;
	}
	return keep;
}

/* open: keys of boxes that are not to be folded. */
export function fold(answer: FlameAnswer, open: ReadonlySet<string>): Folded {
	const { nodes } = answer,
		n = nodes.name.length,
		mine = KINDS.indexOf("program"),
		whose = answer.names.whose;
	const keep = spared(answer, whose),
		isFolded = (i: number): boolean => {
			const name = nodes.name[i]!,
				kind = answer.names.kind[name];
			return (
				(kind === KIND.function || kind === KIND.address) &&
				whose[name] !== mine &&
				!keep[i]
			);
		};
	const names = {
		text: [...answer.names.text, FOLDED_TEXT],
		kind: [...answer.names.kind, KIND.folded],
		module: [...answer.names.module, 0],
		file: [...answer.names.file, 0],
		line: [...answer.names.line, 0],
		colour: [...answer.names.colour, -1],
		whose: [...whose, mine],
	};
	const cellName = names.text.length - 1;
	const to = new Int32Array(n) /* the node of the result that a node is in */,
		run = new Array<string | undefined>(n); /* the opened box that it belongs to */
	const name: number[] = [],
		parent: number[] = [],
		path: number[] = [],
		value: number[] = [],
		other: number[] = [],
		self: number[] = [],
		before: number[] = [],
		children: Map<number, number>[] = [],
		inside: (number[] | undefined)[] = [],
		opened: (string | undefined)[] = [];
	const child = (at: number, called: number): number => {
		const known = at < 0 ? undefined : children[at]!.get(called);
		if (known !== undefined) return known;
		const made = name.length;
		name.push(called);
		parent.push(Math.max(0, at));
		path.push(nameHash(names.text[called]!, at < 0 ? ROOT_HASH : path[at]!));
		value.push(0);
		other.push(0);
		self.push(0);
		before.push(0);
		children.push(new Map());
		inside.push(called === cellName ? [] : undefined);
		opened.push(undefined);
		if (at >= 0) children[at]!.set(called, made);
		return made;
	};
	const add = (node: number, i: number): void => {
		value[node]! += nodes.value[i]!;
		other[node]! += nodes.other[i]!;
		before[node]! += nodes.before?.[i] ?? 0;
	};
	for (let i = 0; i < n; i++) {
		const above = i ? to[nodes.parent[i]!]! : -1;
		let at: number;
		if (i && isFolded(i)) {
			const continues = inside[above] !== undefined,
				key = nameHash(FOLDED_TEXT, path[above]!).toString(36);
			run[i] = run[nodes.parent[i]!] ?? (!continues && open.has(key) ? key : undefined);
			at = run[i] !== undefined ? child(above, nodes.name[i]!) : -1;
			if (at < 0) {
				at = continues ? above : child(above, cellName);
				inside[at]!.push(i);
				/* What is below the first frame of a run is its own already. */
				if (!continues) add(at, i);
			} else {
				opened[at] = run[i];
				add(at, i);
			}
		} else {
			at = child(above, nodes.name[i]!);
			add(at, i);
		}
		self[at]! += nodes.self[i]!;
		to[i] = at;
	}
	/* In the order of a walk, the heaviest first. */
	const order: number[] = [],
		next: number[] = [0],
		depth: number[] = [0];
	const weight = (i: number): number => Math.max(value[i]!, before[i]!);
	while (next.length) {
		const i = next.pop()!;
		order.push(i);
		const below = [...children[i]!.values()].sort((a, b) => weight(a) - weight(b) || b - a);
		for (const c of below) {
			depth[c] = depth[i]! + 1;
			next.push(c);
		}
	}
	const place = new Int32Array(name.length);
	order.forEach((old, i) => (place[old] = i));
	const pick = <T>(list: readonly T[]): T[] => order.map((i) => list[i]!);
	return {
		answer: {
			...answer,
			names,
			nodes: {
				name: pick(name),
				parent: order.map((i) => place[parent[i]!]!),
				depth: pick(depth),
				value: pick(value),
				other: pick(other),
				self: pick(self),
				...(nodes.before ? { before: pick(before) } : {}),
			},
		},
		of: answer,
		inside: order.map((i) => inside[i]),
		opened: order.map((i) => opened[i]),
		cells: inside.filter(Boolean).length,
	};
}
