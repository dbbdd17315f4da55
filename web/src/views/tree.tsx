// SPDX-License-Identifier: MIT OR Apache-2.0
// The call tree as a table: branches open and close, the heaviest path is open at first.  The same
// answer draws the flame graph, so going from one to the other asks nothing.
import { useMemo } from "preact/hooks";
import type { FlameQuery } from "../app/endpoints";
import { dataUrl, useAsked, useData } from "../app/recordings";
import { go, href, useRoute } from "../app/url";
import { adding, functionTerm, threadTerm } from "../parts/adding";
import { Card, Choice } from "../parts/card";
import { copy } from "../parts/clipboard";
import { pathKey } from "../parts/flame/tree";
import { fileName, KINDS, shortName } from "../parts/frames";
import { MeasureChoice, useMeasure } from "../parts/measure";
import { openMenu, type Item } from "../parts/menu";
import { Nothing } from "../parts/nothing";
import { Bytes, Count } from "../parts/number";
import { Share } from "../parts/spark";
import { Answered } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { quote } from "../parts/terms";
import { bytes, count, middle, plural } from "../parts/units";
import { whoseItems } from "../parts/whose";
import { callersOf } from "./callers";
import type { ViewProps } from "./views";

interface Flame {
	total: { bytes: number; count: number };
	node_count: number;
	hidden_count: number;
	names: {
		text: string[];
		kind: number[];
		module: number[];
		file: number[];
		line: number[];
		whose: number[];
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
	};
}
const THREAD = 2,
	FUNCTION = 1;

/* Which nodes are open is in the address: a number for each that depends on the names above it
 * only, so that it holds when figures change. */
interface Shape {
	key: string[];
	next: number[]; /* the first node behind a branch */
	leaf: boolean[];
}

function shapeOf(flame: Flame): Shape {
	const { nodes, names } = flame,
		length = nodes.name.length;
	const hash = new Uint32Array(length),
		next = new Array<number>(length).fill(length),
		leaf = new Array<boolean>(length).fill(true);
	const open: number[] = [];
	for (let i = 0; i < length; i++) {
		let h = i ? hash[nodes.parent[i]!]! : 2166136261;
		for (const c of names.text[nodes.name[i]!]!) h = Math.imul(h ^ c.codePointAt(0)!, 16777619);
		hash[i] = Math.imul(h ^ 47, 16777619);
		while (open.length && nodes.depth[open[open.length - 1]!]! >= nodes.depth[i]!)
			next[open.pop()!] = i;
		if (i) leaf[nodes.parent[i]!] = false;
		open.push(i);
	}
	return { key: Array.from(hash, (h) => h.toString(36)), next, leaf };
}

/* Frames that all stacks begin with, as the nodes between the root and where paths part: they say
 * nothing, so they are folded where there are several. */
const FOLDED = 4;
function shared(flame: Flame, shape: Shape): number {
	let last = 0;
	while (
		!shape.leaf[last] &&
		!shape.leaf[last + 1] &&
		shape.next[last + 1] === shape.next[last] &&
		!flame.nodes.self[last + 1]
	)
		last++;
	return last >= FOLDED ? last : 0;
}

const isMine = (flame: Flame, i: number): boolean =>
	KINDS[flame.names.whose[flame.nodes.name[i]!] ?? -1] === "program";

/* Open at first: the heaviest path from the root down to where the program's own frames part, and
 * on while one branch has most of it. */
const LONGEST = 300;
function heaviest(flame: Flame, shape: Shape): Set<string> {
	const open = new Set<string>();
	let parted = false;
	for (let i = 0; i < flame.nodes.name.length && !shape.leaf[i]; i++) {
		open.add(shape.key[i]!);
		const alone = shape.next[i + 1] === shape.next[i];
		parted ||= isMine(flame, i) && !alone;
		if (
			open.size >= LONGEST ||
			(parted && flame.nodes.value[i + 1]! < flame.nodes.value[i]! * 0.5)
		)
			break;
	}
	return open;
}

export function Tree({ id }: ViewProps) {
	const { parameters } = useRoute();
	const measured = useMeasure();
	const asked = useAsked();
	const direction = parameters["direction"] === "up" ? "up" : "down";
	const by = (parameters["by"] ?? "function") as NonNullable<FlameQuery["by"]>;
	const weight = parameters["weight"] === "count" ? "count" : "bytes";
	const threads = by === "thread";
	const answer = useData<Flame>(
		dataUrl(id, "/data/{id}/flame", { ...asked, ...measured.query, weight, direction, by }),
	);
	const flame = answer.data;
	const shape = useMemo(() => (flame ? shapeOf(flame) : undefined), [flame]);
	const said = parameters["open"];
	const open = useMemo(
		() =>
			said !== undefined
				? new Set(said.split(".").filter(Boolean))
				: flame && shape
					? heaviest(flame, shape)
					: new Set<string>(),
		[said, flame, shape],
	);
	const unfold = parameters["unfold"] === "1";
	const folded = useMemo(
		() => (flame && shape && direction === "down" ? shared(flame, shape) : 0),
		[flame, shape, direction],
	);
	const hidden = unfold ? 0 : folded;
	const rows = useMemo(() => {
		const list: number[] = [];
		if (!flame || !shape) return list;
		for (let i = 0; i < flame.nodes.name.length;) {
			list.push(i);
			if (!open.has(shape.key[i]!)) i = shape.next[i]!;
			else i = i === 0 ? hidden + 1 : i + 1;
		}
		return list;
	}, [flame, shape, open, hidden]);
	const set = (change: (open: Set<string>) => void): void => {
		const next = new Set(open);
		change(next);
		go({ open: [...next].join(".") || "." }, true);
	};
	const turn = (node: number, to = !open.has(shape!.key[node]!)): void =>
		set((next) => (to ? next.add(shape!.key[node]!) : next.delete(shape!.key[node]!)));
	const below = (node: number): void =>
		set((next) => {
			for (let i = node, end = shape!.next[node]!; i < end && next.size < 400; i++)
				if (!shape!.leaf[i]) next.add(shape!.key[i]!);
		});

	const text = (i: number): string => flame!.names.text[flame!.nodes.name[i]!]!;
	const kind = (i: number): number => flame!.names.kind[flame!.nodes.name[i]!]!;
	const place = (i: number): string => {
		const name = flame!.nodes.name[i]!,
			file = flame!.files[flame!.names.file[name]!] ?? "",
			line = flame!.names.line[name]!;
		if (!file && kind(i) !== FUNCTION) return ""; /* the name says it */
		return file
			? `${fileName(file)}${line ? `:${line}` : ""}`
			: fileName(flame!.modules[flame!.names.module[name]!] ?? "");
	};
	const term = (i: number): string => {
		if (kind(i) === THREAD) {
			/* "thread NAME (NUMBER)" where names are shared, "thread NAME", "thread NUMBER" */
			const thread = /\((\d+)\)$/.exec(text(i))?.[1] ?? text(i).replace(/^thread /, "");
			return /^\d+$/.test(thread) ? threadTerm(Number(thread)) : `thread = ${quote(thread)}`;
		}
		return kind(i) === FUNCTION && by !== "module" && by !== "line"
			? functionTerm(text(i))
			: "";
	};
	/* The same node as a box of the flame graph, which has functions and threads only. */
	const to = (i: number): string | undefined => {
		const names: string[] = [];
		for (let node = i; node; node = flame!.nodes.parent[node]!) names.unshift(text(node));
		return by === "line" || by === "module"
			? undefined
			: href(
					{ view: "flame" },
					{
						measure: measured.measure,
						shape: threads ? "thread" : direction === "up" ? "up" : "",
						zoom: names.length ? pathKey(["all", ...names]) : "",
						frames: "all",
					},
				);
	};
	/* Stacks that have all these functions, in any order. */
	const through = (i: number): string => {
		const terms = new Set<string>();
		for (let node = i; node; node = flame!.nodes.parent[node]!)
			if (term(node)) terms.add(term(node));
		if (measured.term) terms.add(measured.term);
		return terms.size
			? adding([...terms].reverse().join(" and "), "allocations")
			: href({ view: "allocations" });
	};
	const sizes = (i: number): { bytes: number; count: number } => {
		const { value, other } = flame!.nodes;
		return weight === "bytes"
			? { bytes: value[i]!, count: other[i]! }
			: { bytes: other[i]!, count: value[i]! };
	};
	const total = flame?.total ?? { bytes: 0, count: 0 };
	const columns: Column<number>[] = [
		{
			key: "name",
			label: direction === "down" ? "called" : "called by",
			width: "minmax(320px, 1fr)",
			text: (i) => `${"  ".repeat(flame!.nodes.depth[i]!)}${text(i)}`,
			cell: (i) => (
				<span
					class="branch"
					style={{
						paddingLeft:
							Math.min(flame!.nodes.depth[i]! - (i ? hidden : 0), 60) * 14 + "px",
					}}>
					{shape!.leaf[i] ? (
						<span class="twig" />
					) : (
						<button
							type="button"
							class="twig"
							tabIndex={-1}
							aria-expanded={open.has(shape!.key[i]!)}
							aria-label={
								`${open.has(shape!.key[i]!) ? "Close" : "Open"} ` +
								`${middle(text(i), 40)}`
							}
							onClick={() => turn(i)}>
							{open.has(shape!.key[i]!) ? "▾" : "▸"}
						</button>
					)}
					<span title={text(i)} class={kind(i) === FUNCTION ? "" : "dim"}>
						{i === 0 ? "all" : middle(shortName(text(i)), 90)}
					</span>
					<span class="place dim">
						{i
							? place(i)
							: folded > 0 && (
									<button
										type="button"
										class="button quiet"
										tabIndex={-1}
										onClick={() => go({ unfold: unfold ? "" : "1" })}>
										{unfold ? "fold" : "show"} {plural(folded, "frame")} that
										all stacks begin with
									</button>
								)}
					</span>
				</span>
			),
		},
		{
			key: "bytes",
			label: "bytes",
			number: true,
			width: "minmax(128px, 0.35fr)",
			cell: (i) => (
				<Share part={sizes(i).bytes} whole={total.bytes}>
					<Bytes value={sizes(i).bytes} to={to(i)} />
				</Share>
			),
			text: (i) => String(sizes(i).bytes),
		},
		{
			key: "count",
			label: "blocks",
			number: true,
			width: "96px",
			cell: (i) => <Count value={sizes(i).count} to={to(i)} />,
			text: (i) => String(sizes(i).count),
		},
		...(direction === "up"
			? []
			: [
					{
						key: "self",
						label: weight === "bytes" ? "self" : "self blocks",
						title: "What ends here",
						number: true,
						width: "96px",
						text: (i) => String(flame!.nodes.self[i]),
						cell: (i) =>
							flame!.nodes.self[i] ? (
								weight === "bytes" ? (
									<Bytes value={flame!.nodes.self[i]!} />
								) : (
									<Count value={flame!.nodes.self[i]!} />
								)
							) : (
								<span class="dim">–</span>
							),
					} satisfies Column<number>,
				]),
	];
	const keys = (event: KeyboardEvent, i: number): boolean => {
		if (event.ctrlKey || event.altKey || event.metaKey) return false;
		const isOpen = open.has(shape!.key[i]!);
		if (event.key === "ArrowRight" && !shape!.leaf[i] && !isOpen) turn(i, true);
		else if (event.key === "ArrowLeft" && isOpen) turn(i, false);
		else if (event.key === "*") below(i);
		else return false;
		return true;
	};
	const menu = (i: number, x: number, y: number): void => {
		const items: Item[] = [];
		if (!shape!.leaf[i])
			items.push({ label: "Open all below", hint: "*", run: () => below(i) });
		if (term(i))
			items.push(
				{ label: "Only what goes through it", href: adding(term(i)) },
				{ label: "Without it", href: adding(`not ${term(i)}`) },
			);
		if (kind(i) === FUNCTION && i && by !== "module" && by !== "line")
			items.push({ label: "Callers and callees", href: callersOf(text(i)) });
		if (kind(i) === FUNCTION && i && by !== "line")
			items.push(
				...whoseItems(
					{
						name: by === "module" ? undefined : text(i),
						module: flame!.modules[flame!.names.module[flame!.nodes.name[i]!]!],
					},
					isMine(flame!, i),
				),
			);
		items.push({ label: "Allocations through all of these", href: through(i) });
		const name = flame!.nodes.name[i]!,
			file = flame!.files[flame!.names.file[name]!];
		if (file)
			items.push({
				label: "Source",
				hint: place(i),
				href: href(
					{ view: "source" },
					{ file, line: String(flame!.names.line[name] || "") },
				),
			});
		items.push({ label: "Copy the name", run: () => void copy(text(i), "Name") });
		openMenu(x, y, middle(shortName(text(i)), 40), items);
	};
	return (
		<Card
			name="tree"
			title="Call tree"
			said={
				flame
					? `${bytes(total.bytes)} ${measured.words} in ` +
						`${plural(total.count, "block")} · ` +
						`${plural(flame.node_count, "node")}` +
						(flame.hidden_count
							? ` and ${count(flame.hidden_count)} lighter ones summed`
							: "")
					: ""
			}
			tools={
				<>
					<Choice
						label="Direction"
						value={direction}
						options={[
							["down", "top-down", "From where threads start"],
							["up", "bottom-up", "From the functions that asked"],
						]}
						onChange={(value) =>
							go({ direction: value === "down" ? "" : value, open: "" })
						}
					/>
					<Choice
						label="Nodes are"
						value={by}
						options={[
							["function", "functions"],
							["line", "lines"],
							["module", "modules"],
							["thread", "by thread"],
						]}
						onChange={(value) =>
							go({ by: value === "function" ? "" : value, open: "" })
						}
					/>
					<Choice
						label="Ordered by"
						value={weight}
						options={[
							["bytes", "bytes"],
							["count", "blocks"],
						]}
						onChange={(value) => go({ weight: value === "bytes" ? "" : value })}
					/>
					<MeasureChoice measured={measured} />
				</>
			}>
			<Answered what="The call tree" answer={answer} lines={12}>
				{(data) =>
					data.total.count === 0 ? (
						<Nothing title="Nothing matches">
							No allocation is left to draw a tree of.
						</Nothing>
					) : (
						<Table
							label="Call tree"
							columns={columns}
							count={rows.length}
							row={(i) => rows[i]}
							rowHeight={38}
							subject={`${direction} ${threads}`}
							onKey={keys}
							nouns="nodes shown"
							onOpen={(i) => {
								if (!shape!.leaf[i]) turn(i);
							}}
							onMenu={(i, _, x, y) => menu(i, x, y)}
						/>
					)
				}
			</Answered>
		</Card>
	);
}
