// SPDX-License-Identifier: MIT OR Apache-2.0
// The flame graph: who holds (or took) the memory that the question, the brush and the moment
// leave. In the address: measure, weight, shape (down, up, thread), against (a recording or a
// moment: then it is a difference), zoom and pin (boxes, by a hash of their path, so that they
// survive another answer), search, as=table.
import { useEffect, useMemo, useState } from "preact/hooks";
import {
	dataUrl,
	useData,
	useAsked,
	useRecordings,
	time,
	seconds as secondsOf,
	nsToSeconds,
} from "../app/recordings";
import { programName } from "../app/program_name";
import { useFacts } from "../app/facts";
import { go, href, route, useRoute } from "../app/url";
import { Card, Choice, FillButton } from "../parts/card";
import { copy } from "../parts/clipboard";
import { Flame } from "../parts/flame/canvas";
import { FlameTable } from "../parts/flame/table";
import { fold } from "../parts/flame/fold";
import { KIND, searchPattern, Tree, type FlameAnswer } from "../parts/flame/tree";
import { openMenu, type Item } from "../parts/menu";
import { Sum } from "../parts/number";
import { Answered, Empty } from "../parts/states";
import { quote, withTerm } from "../parts/terms";
import {
	bytes,
	count,
	date,
	duration,
	exact,
	middle,
	percent,
	plural,
	signed,
} from "../parts/units";
import { whoseItems } from "../parts/whose";
import { callersOf } from "./callers";
import { has } from "./names";
import type { ViewProps } from "./views";

type Measure = "leaked" | "alive" | "peak" | "allocated" | "temporary";
const MEASURES: readonly (readonly [Measure, string, string])[] = [
	["leaked", "leaked", "never freed"],
	["alive", "alive at t", "alive at the moment that is chosen in the timeline"],
	["peak", "peak", "alive when the program had most"],
	["allocated", "allocated", "everything, freed or not"],
	["temporary", "temporary", "freed by the next call of the same thread"],
];
const SAID: Record<Measure, string> = {
	leaked: "never freed",
	alive: "alive",
	peak: "alive at the peak",
	allocated: "allocated",
	temporary: "temporary",
};
const SHAPES = [
	["down", "top-down", "from where threads start"],
	["up", "bottom-up", "from the functions that allocate"],
	["thread", "by thread", "threads first"],
] as const;

/* In the user's own names, unless the address says frames=all; open: boxes that are unfolded. */
export function useTree(answer: FlameAnswer | undefined): Tree | undefined {
	const { frames, open } = useRoute().parameters;
	return useMemo(() => {
		if (!answer) return undefined;
		if (frames === "all") return new Tree(answer);
		const folded = fold(answer, new Set((open ?? "").split(".").filter(Boolean)));
		return new Tree(folded.answer, folded);
	}, [answer, frames, open]);
}

export const FramesChoice = () => (
	<Choice
		label="Frames"
		value={useRoute().parameters["frames"] === "all" ? "all" : "own"}
		options={[
			[
				"own",
				"own frames",
				"Frames of allocators, libraries and runtimes are boxes that count them",
			],
			["all", "all frames", "Every frame is a box"],
		]}
		onChange={(key) => go({ frames: key === "own" ? "" : key, zoom: "", open: "" })}
	/>
);

/* Opens a box that holds frames, or folds it again. */
function turnFolded(key: string): void {
	const open = (route().parameters["open"] ?? "").split(".").filter(Boolean);
	go({ open: (open.includes(key) ? open.filter((k) => k !== key) : [...open, key]).join(".") });
}

export function FlameView({ id }: ViewProps) {
	const { parameters } = useRoute();
	const asked = useAsked();
	const facts = useFacts(id);
	const peak = facts.data ? nsToSeconds(facts.data.peak.at_ns) : undefined;
	const measure =
		MEASURES.find(([key]) => key === parameters["measure"])?.[0] ??
		(parameters["at"] ? "alive" : "peak");
	const weight = parameters["weight"] === "count" ? "count" : "bytes";
	const shape = SHAPES.find(([key]) => key === parameters["shape"])?.[0] ?? "down";
	const against = parameters["against"];
	const at = measure === "alive" ? parameters["at"] || peak : undefined;
	const ready = measure !== "alive" || at !== undefined;
	const answer = useData<FlameAnswer>(
		ready
			? dataUrl(id, "/data/{id}/flame", {
					...asked,
					measure,
					weight,
					at: time(at),
					direction: shape === "up" ? "up" : undefined,
					by: shape === "thread" ? "thread" : undefined,
					against:
						against && /^[0-9.]+$/.test(against) && against.length < 32
							? `${against}s`
							: against,
				})
			: null,
	);
	const tree = useTree(answer.data);
	const asTable = parameters["as"] === "table";
	const said = tree && answer.data && <Said tree={tree} measure={measure} at={at} />;
	return (
		<Card
			title={against ? "Flame graph of the difference" : "Flame graph"}
			name="flame"
			fill={parameters["fill"] === "1"}
			said={said}
			tools={
				<>
					<Choice
						label="Measure"
						value={measure}
						options={MEASURES}
						onChange={(key) =>
							go({
								measure: key,
								...(key === "alive" && !parameters["at"] && peak
									? { at: peak }
									: {}),
							})
						}
					/>
					<Choice
						label="Weight"
						value={weight}
						options={[
							["bytes", "bytes"],
							["count", "blocks"],
						]}
						onChange={(key) => go({ weight: key === "bytes" ? "" : key })}
					/>
					<Choice
						label="Shape"
						value={shape}
						options={SHAPES}
						onChange={(key) => go({ shape: key === "down" ? "" : key, zoom: "" })}
					/>
				</>
			}>
			<Tools
				id={id}
				tree={tree}
				from={parameters["from"]}
				peak={peak}
				against={against}
				asTable={asTable}
				query={{ measure, weight, at: time(at), ...asked }}
			/>
			<Answered what="The flame graph" answer={answer} lines={12}>
				{() =>
					tree &&
					(tree.count < 2 || tree.width[0] === 0 ? (
						<Empty
							title={
								`Nothing ${SAID[measure]}` +
								(asked["filter"] || asked["from"] ? " that matches" : "")
							}>
							{asked["filter"] || asked["from"] || asked["to"] ? (
								<>
									Remove a term or the range above, or choose another measure.{" "}
									<a
										class="link"
										href={href({}, { filter: "", from: "", to: "" })}>
										Ask about everything
									</a>
								</>
							) : (
								"Choose another measure or another moment."
							)}
						</Empty>
					) : asTable ? (
						<FlameTable
							tree={tree}
							menu={(box, x, y) => openMenu(x, y, tree.text(box), boxMenu(tree, box))}
						/>
					) : (
						<Graph
							tree={tree}
							search={parameters["search"]}
							zoomKey={parameters["zoom"]}
							pins={parameters["pin"]}
						/>
					))
				}
			</Answered>
		</Card>
	);
}

function Said({ tree, measure, at }: { tree: Tree; measure: Measure; at: string | undefined }) {
	const { total, hidden_count, against, nodes } = tree.answer;
	const what = measure === "alive" && at ? `alive at ${duration(Number(at))}` : SAID[measure];
	return (
		<>
			<Sum bytes={total.bytes} blocks={total.count} /> {what}
			{against && nodes.before && (
				<>
					{" "}
					·{" "}
					{signed(
						tree.answer.weight === "bytes"
							? bytes(tree.value(0) - tree.before(0))
							: count(tree.value(0) - tree.before(0)),
					)}{" "}
					against {against.at_ns != null ? duration(against.at_ns / 1e9) : against.name}
				</>
			)}
			{hidden_count > 0 && (
				<span title="Boxes that are too light are put together as “others”">
					{" "}
					· {plural(hidden_count, "light box", "light boxes")} summed
				</span>
			)}
		</>
	);
}

/* Search, comparison, table, download. */
function Tools({
	id,
	tree,
	from,
	peak,
	against,
	asTable,
	query,
}: {
	id: string;
	tree: Tree | undefined;
	from: string | undefined;
	peak: string | undefined;
	against: string | undefined;
	asTable: boolean;
	query: Record<string, unknown>;
}) {
	const { parameters } = useRoute();
	const { list } = useRecordings();
	const [text, setText] = useState(parameters["search"] ?? "");
	useEffect(() => setText(parameters["search"] ?? ""), [parameters["search"]]);
	const pattern = searchPattern(text);
	const found = useMemo(() => (tree && pattern ? tree.search(pattern) : undefined), [tree, text]);
	const others = (list ?? []).filter(
		(r) => r.id !== id && r.kind === "recording" && (r.state === "ready" || r.state === "live"),
	);
	const moments: [string, string][] = [];
	if (from) moments.push([from, `the start of the range, ${duration(Number(from))}`]);
	if (peak) moments.push([peak, `the peak, ${duration(Number(peak))}`]);
	moments.push(["0", "the start of the program"]);
	if (
		against &&
		!others.some((r) => r.id === against) &&
		!moments.some(([key]) => key === against)
	)
		moments.push([against, duration(Number(against))]);
	const download = new URLSearchParams(
		Object.entries(query)
			.filter(([, v]) => v !== undefined && v !== "")
			.map(([k, v]) => [k, String(v)]),
	).toString();
	return (
		<div class="flame-tools">
			<input
				class="field search"
				type="search"
				aria-label="Search in the flame graph"
				placeholder="Search functions"
				value={text}
				spellcheck={false}
				onInput={(event) => {
					setText(event.currentTarget.value);
					go({ search: event.currentTarget.value }, true);
				}}
				onKeyDown={(event) => {
					if (event.key !== "Escape") return;
					if (text) go({ search: "" }, true);
					else event.currentTarget.blur();
					event.preventDefault();
					event.stopPropagation();
				}}
			/>
			{found && tree ? (
				<span class="grow dim" role="status">
					{found.boxes
						? `${percent(found.weight, tree.value(0))} in ` +
							`${plural(found.boxes, "box", "boxes")}`
						: "no function fits"}
				</span>
			) : (
				<span class="grow" />
			)}

			<label class="dim">
				Compare with{" "}
				<select
					class="field auto"
					value={against ?? ""}
					onChange={(event) =>
						go({
							against: event.currentTarget.value,
							...(moments.some(([key]) => key === event.currentTarget.value) &&
							event.currentTarget.value
								? { measure: "alive", at: parameters["at"] || peak || "" }
								: {}),
						})
					}>
					<option value="">nothing</option>
					<optgroup label="A moment of this recording">
						{moments.map(([key, label]) => (
							<option key={key} value={key}>
								{label}
							</option>
						))}
					</optgroup>
					{others.length > 0 && (
						<optgroup label="Another recording">
							{others.map((r) => (
								<option key={r.id} value={r.id}>
									{programName(r)},{" "}
									{r.timestamp ? date(secondsOf(r.timestamp)) : r.name}
								</option>
							))}
						</optgroup>
					)}
				</select>
			</label>
			<FramesChoice />
			<Choice
				label="Shown as"
				value={asTable ? "table" : "graph"}
				options={[
					["graph", "graph"],
					["table", "table"],
				]}
				onChange={(key) => go({ as: key === "graph" ? "" : key })}
			/>
			<a
				class="button"
				href={`/data/${id}/export/flamegraph/flamegraph.svg?${download}`}
				download="flamegraph.svg"
				title="The same as an SVG picture that can be clicked">
				SVG
			</a>
			<FillButton on={parameters["fill"] === "1"} />
		</div>
	);
}

const weighed = (tree: Tree, value: number): string =>
	tree.answer.weight === "bytes" ? bytes(value) : plural(value, "block");

const HELD_SHOWN = 8;

function Describe({ tree, box }: { tree: Tree; box: number }) {
	const module = tree.module(box),
		place = tree.place(box),
		self = tree.answer.nodes.self[box] ?? 0,
		before = tree.answer.nodes.before;
	const held = tree.heldNames(box);
	return (
		<>
			<div class="tip-name">{middle(tree.text(box), 300)}</div>
			{held.slice(0, HELD_SHOWN).map((name) => (
				<div key={name} class="dim">
					{middle(name, 90)}
				</div>
			))}
			{held.length > HELD_SHOWN && (
				<div class="dim">and {held.length - HELD_SHOWN} more; a click shows them</div>
			)}
			<div>
				{bytes(tree.bytes(box))} in {plural(tree.blocks(box), "block")} ·{" "}
				{percent(tree.value(box), tree.value(0))}
			</div>
			{before && (
				<div>
					{weighed(tree, tree.before(box))} before,{" "}
					{signed(
						tree.answer.weight === "bytes"
							? bytes(tree.value(box) - tree.before(box))
							: count(tree.value(box) - tree.before(box)),
					)}
				</div>
			)}
			{self > 0 && (
				<div class="dim">
					{weighed(tree, self)}{" "}
					{tree.answer.direction === "up" ? "start here" : "by itself"}
				</div>
			)}
			{(module || place) && (
				<div class="dim">
					{[module, place && middle(place, 90)].filter(Boolean).join(" · ")}
				</div>
			)}
		</>
	);
}

/* The terms that a box stands for, and what can be done with it. */
function boxMenu(tree: Tree, box: number): Item[] {
	const { filter } = route().parameters,
		name = tree.text(box),
		kind = tree.kind(box),
		place = tree.place(box);
	const items: Item[] = [];
	const ask = (label: string, term: string, view?: string): Item => ({
		label,
		href: href(view ? { view } : {}, {
			filter: withTerm(filter, term),
			...(view ? {} : { zoom: "" }),
		}),
	});
	if (kind === KIND.function) {
		const term = `function = ${quote(name)}`;
		items.push(
			ask("Only stacks through this function", term),
			ask("Without this function", `not ${term}`),
		);
		items.push({ label: "Callers and callees", href: callersOf(name) });
		if (has("allocations")) items.push(ask("Its allocations", term, "allocations"));
		if (has("source") && place)
			items.push({
				label: "Its source",
				hint: place.split("/").pop() ?? "",
				href: href(
					{ view: "source" },
					{ file: place.replace(/:\d+$/, ""), line: /:(\d+)$/.exec(place)?.[1] ?? "" },
				),
			});
		if (tree.module(box))
			items.push(
				ask(
					`Only ${tree.module(box)}`,
					`module ~ ${quote(tree.module(box).replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))}`,
				),
			);
	}
	if (kind === KIND.function || kind === KIND.address)
		items.push(
			...whoseItems(
				{ name: kind === KIND.function ? name : undefined, module: tree.module(box) },
				tree.whose(box) === "program",
			),
		);
	if (kind === KIND.thread) {
		const number = /(\d+)\D*$/.exec(name)?.[1];
		if (number) items.push(ask("Only this thread", `thread = ${number}`));
	}
	items.push(
		...foldItems(tree, box),
		{ label: "Zoom in", href: href({}, { zoom: tree.key(box) }) },
		{ label: "Pin", hint: "p", run: () => togglePin(tree, box) },
		{ label: "Copy the stack", hint: "c", run: () => copyStack(tree, box) },
	);
	return items;
}

export function foldItems(tree: Tree, box: number): Item[] {
	const opened = tree.folded?.opened[box];
	if (tree.kind(box) === KIND.folded)
		return [{ label: "Show its frames", run: () => turnFolded(tree.key(box)) }];
	return opened ? [{ label: "Fold these frames", run: () => turnFolded(opened) }] : [];
}

export function togglePin(tree: Tree, box: number): void {
	const pins = (route().parameters["pin"] ?? "").split(",").filter(Boolean),
		key = tree.key(box);
	if (key)
		go({
			pin: (pins.includes(key) ? pins.filter((p) => p !== key) : [...pins, key]).join(","),
		});
}

/* Innermost first, as debuggers print stacks. */
export function copyStack(tree: Tree, box: number): void {
	const names = tree.stack(box);
	if (tree.answer.direction === "down") names.reverse();
	void copy(names.join("\n"), "Stack");
}

const FOLD_FROM = 4;

/* menu: what can be asked about a box. */
export function Graph({
	tree,
	search,
	zoomKey,
	pins,
	menu = boxMenu,
}: {
	tree: Tree;
	search: string | undefined;
	zoomKey: string | undefined;
	pins: string | undefined;
	menu?: (tree: Tree, box: number) => Item[];
}) {
	const zoom = tree.find(zoomKey);
	const [selectedKey, setSelected] = useState<string>();
	const selected =
		selectedKey === undefined ? -1 : selectedKey === "" ? 0 : tree.find(selectedKey) || -1;
	const pattern = searchPattern(search ?? "");
	const hits = useMemo(() => (pattern ? tree.search(pattern).hits : undefined), [tree, search]);
	const pinned = (pins ?? "").split(",").filter(Boolean);
	const goZoom = (box: number): void => {
		const key = tree.key(box);
		if (tree.kind(box) === KIND.folded) turnFolded(key);
		else if (key !== (zoomKey ?? "")) go({ zoom: key });
	};
	const onKey = (key: string, box: number): boolean => {
		if (key === "Escape") {
			if (zoom) goZoom(tree.parent(zoom));
			else if (selected >= 0) setSelected(undefined);
			else return false;
		} else if (key === "c") copyStack(tree, box);
		else if (key === "p") togglePin(tree, box);
		else return false;
		return true;
	};
	/* Frames that all stacks begin with say nothing; of a zoomed box the nearest callers are
	 * enough. */
	const folded = Math.max(
		tree.shared >= FOLD_FROM && !tree.folded?.opened.some(Boolean) ? tree.shared : 0,
		tree.depth(zoom) > FOLD_FROM + 2 ? tree.depth(zoom) - 3 : 0,
	);
	const fold = route().parameters["unfold"] ? 0 : folded;
	const spoken = (box: number): string =>
		`${tree.text(box)}: ${weighed(tree, tree.value(box))}, ` +
		`${percent(tree.value(box), tree.value(0))} of all, depth ${tree.depth(box)}`;
	const trail: number[] = [];
	for (let at = zoom; at > 0; at = tree.parent(at)) trail.unshift(at);
	return (
		<>
			{trail.length > 0 && (
				<nav class="trail" aria-label="Zoomed to">
					<a href={href({}, { zoom: "" })}>all</a>
					{trail.map((box, i) =>
						trail.length > 6 && i > 0 && i < trail.length - 4 ? (
							i === 1 && (
								<span
									key={box}
									title={trail
										.slice(1, -4)
										.map((b) => tree.text(b))
										.join("\n")}>
									{" "}
									› …
								</span>
							)
						) : (
							<span key={box}>
								{" "}
								›{" "}
								{i === trail.length - 1 ? (
									<strong title={tree.text(box)}>
										{middle(tree.text(box), 48)}
									</strong>
								) : (
									<a
										href={href({}, { zoom: tree.key(box) })}
										title={tree.text(box)}>
										{middle(tree.text(box), trail.length > 4 ? 24 : 36)}
									</a>
								)}
							</span>
						),
					)}
					<span class="dim">
						: <Sum bytes={tree.bytes(zoom)} blocks={tree.blocks(zoom)} />
					</span>
				</nav>
			)}
			<Flame
				tree={tree}
				label={
					`Flame graph, ${plural(tree.count, "box", "boxes")}; arrows move, ` +
					"Enter zooms, Escape zooms out"
				}
				zoom={zoom}
				fold={fold}
				selected={selected}
				hits={hits}
				describe={(box) => <Describe tree={tree} box={box} />}
				spoken={spoken}
				onZoom={goZoom}
				onSelect={(box) => setSelected(tree.key(box))}
				onKey={onKey}
				onMenu={(box, x, y) => openMenu(x, y, middle(tree.text(box), 60), menu(tree, box))}
			/>
			<div class="flame-foot">
				{selected > 0 ? (
					<>
						<strong title={tree.text(selected)}>
							{middle(tree.text(selected), 100)}
						</strong>
						<span>
							{bytes(tree.bytes(selected))} in{" "}
							{plural(tree.blocks(selected), "block")},{" "}
							{percent(tree.value(selected), tree.value(0))}
						</span>
						<span class="dim">
							{[tree.module(selected), middle(tree.place(selected), 70)]
								.filter(Boolean)
								.join(" · ")}
						</span>
						<span class="grow" />
						<button
							type="button"
							class="button"
							onClick={() => copyStack(tree, selected)}>
							Copy stack
						</button>
						<button
							type="button"
							class="button"
							aria-pressed={pinned.includes(tree.key(selected))}
							onClick={() => togglePin(tree, selected)}>
							{pinned.includes(tree.key(selected)) ? "Unpin" : "Pin"}
						</button>
						<button
							type="button"
							class="button"
							onClick={(event) =>
								openMenu(
									event.clientX,
									event.clientY,
									middle(tree.text(selected), 60),
									menu(tree, selected),
								)
							}>
							More…
						</button>
					</>
				) : tree.answer.nodes.before ? (
					<span class="legend dim">
						<i class="swatch grown" /> more than before <i class="swatch shrunk" /> less{" "}
						<i class="swatch same" /> the same; as wide as the larger of both
					</span>
				) : (
					<span class="dim">
						Click zooms in, or shows what a box holds (+3); right click asks. Hue by
						module, lightness by name; grey is not the program's.
					</span>
				)}
				{folded > 0 && selected <= 0 && (
					<>
						<span class="grow" />
						<button
							type="button"
							class="button"
							onClick={() => go({ unfold: fold ? "1" : "" })}>
							{fold ? `Unfold ${fold} frames` : "Fold what all begin with"}
						</button>
					</>
				)}
			</div>
			{pinned.length > 0 && (
				<ul class="pins" aria-label="Pinned boxes">
					{pinned.map((key) => {
						const box = tree.find(key);
						return (
							<li key={key}>
								{box ? (
									<>
										<a
											href={href({}, { zoom: key })}
											title={tree.stack(box).join("\n")}>
											{middle(tree.text(box), 80)}
										</a>
										<span class="number" title={exact(tree.bytes(box))}>
											{weighed(tree, tree.value(box))}
										</span>
										<span class="number dim">
											{percent(tree.value(box), tree.value(0))}
										</span>
									</>
								) : (
									<>
										<span class="dim">
											a pinned box that is not in this picture
										</span>
										<span class="number dim">0</span>
										<span />
									</>
								)}
								<button
									type="button"
									aria-label="Unpin"
									title="Unpin"
									onClick={() =>
										go({ pin: pinned.filter((p) => p !== key).join(",") })
									}>
									×
								</button>
							</li>
						);
					})}
				</ul>
			)}
		</>
	);
}
