// SPDX-License-Identifier: MIT OR Apache-2.0
// The flame graph of a heap profile: the drawing of recordings, with what can be asked about a
// dump.
import { useMemo } from "preact/hooks";
import type { Answer } from "../app/api";
import { dataUrl } from "../app/recordings";
import { go, href, useRoute } from "../app/url";
import { Card, Choice, FillButton } from "../parts/card";
import { copy } from "../parts/clipboard";
import { FlameTable } from "../parts/flame/table";
import { KIND, searchPattern, Tree, type FlameAnswer } from "../parts/flame/tree";
import { openMenu, type Item } from "../parts/menu";
import { Search } from "../parts/search";
import { Answered, Empty } from "../parts/states";
import { bytes, count, exact, middle, percent, plural, signed } from "../parts/units";
import { copyStack, Graph, togglePin } from "../views/flame";
import { calmed, patternOf, type Asked, type Facts, type Report } from "./data";

const SHAPES = [
	["down", "top-down", "from where threads start"],
	["up", "bottom-up", "from the functions that allocate"],
	["thread", "by thread", "threads first"],
] as const;

/* What can be done with a name, wherever it stands. */
export function nameMenu(
	id: string,
	asked: Asked,
	name: string,
	reports: readonly Report[],
): Item[] {
	const pattern = patternOf(asked.by, name);
	return [
		{ label: "Only stacks through it", href: href({}, { focus: pattern, zoom: "" }) },
		{ label: "No stacks through it", href: href({}, { ignore: pattern, zoom: "" }) },
		{ label: "Leave its frames out", href: href({}, { exclude: pattern, zoom: "" }) },
		...reports
			.filter((r) => r.regex)
			.map((r): Item => ({
				label: `Report: ${r.name}`,
				hint: "new tab",
				run: () =>
					void window.open(
						dataUrl(
							id,
							"/dumps/{id}/report/{format}",
							{ ...asked.query, regex: pattern },
							{ format: r.name },
						),
						"_blank",
						"noopener",
					),
			})),
		{ label: "Copy the name", run: () => void copy(name, "Name") },
	];
}

export function HeapGraph({
	id,
	asked,
	facts,
	answer,
	reports,
}: {
	id: string;
	asked: Asked;
	facts: Facts | undefined;
	answer: Answer<FlameAnswer>;
	reports: readonly Report[];
}) {
	const { parameters } = useRoute();
	const tree = useMemo(() => (answer.data ? new Tree(answer.data) : undefined), [answer.data]);
	const search = parameters["search"],
		pattern = searchPattern(search ?? "");
	const found = useMemo(
		() => (tree && pattern ? tree.search(pattern) : undefined),
		[tree, search],
	);
	const asTable = parameters["as"] === "table";
	const menu = (of: Tree, box: number): Item[] => {
		const name = of.text(box),
			kind = of.kind(box);
		const items =
			kind === KIND.function || kind === KIND.address
				? nameMenu(
						id,
						asked,
						asked.by === "line" && of.place(box) ? `${name} ${of.place(box)}` : name,
						reports,
					)
				: [];
		const thread =
			kind === KIND.thread
				? facts?.threads.find((t) => (t.name ?? `t${t.thread}`) === name)
				: undefined;
		if (thread)
			items.push({
				label: "Only this thread",
				href: href({}, { thread: String(thread.thread), shape: "", zoom: "" }),
			});
		if (kind === KIND.function)
			items.push({ label: "Find it in the table", href: href({}, { find: name }) });
		items.push(
			{ label: "Zoom in", href: href({}, { zoom: of.key(box) }) },
			{ label: "Pin", hint: "p", run: () => togglePin(of, box) },
			{ label: "Copy the stack", hint: "c", run: () => copyStack(of, box) },
		);
		return items;
	};
	return (
		<Card
			title={asked.base ? "Difference" : "Who holds the memory"}
			name="heap-flame"
			fill={parameters["fill"] === "1"}
			said={tree && <Said tree={tree} asked={asked} facts={facts} />}
			tools={
				<>
					{facts?.accumulated !== false && (
						<Choice
							label="Measure"
							value={asked.ever ? "alloc" : "inuse"}
							options={[
								["inuse", "in use", "alive when the dump was taken"],
								["alloc", "allocated", "everything, freed or not"],
							]}
							onChange={(key) => go({ measure: key === "alloc" ? key : "" })}
						/>
					)}
					<Choice
						label="Weight"
						value={asked.weight}
						options={[
							["bytes", "bytes"],
							["count", "blocks"],
						]}
						onChange={(key) => go({ weight: key === "bytes" ? "" : key })}
					/>
					<Choice
						label="Shape"
						value={asked.shape}
						options={SHAPES}
						onChange={(key) => go({ shape: key === "down" ? "" : key, zoom: "" })}
					/>
				</>
			}>
			<div class="flame-tools">
				<Search label="Search in the flame graph" placeholder="Search functions" />
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

				<Choice
					label="Shown as"
					value={asTable ? "table" : "graph"}
					options={[
						["graph", "graph"],
						["table", "table"],
					]}
					onChange={(key) => go({ as: key === "graph" ? "" : key })}
				/>
				<FillButton on={parameters["fill"] === "1"} />
			</div>
			<Answered what="The flame graph" answer={calmed(answer)} lines={12}>
				{() =>
					tree &&
					(tree.count < 2 || tree.width[0] === 0 ? (
						<Empty
							title={
								`Nothing ${asked.words}` + (asked.filtered ? " that matches" : "")
							}>
							{asked.filtered
								? "Change or remove what is asked for above."
								: asked.ever
									? "The program did not keep count of what it freed: " +
										"MALLOC_CONF=prof_accum:true does."
									: "The dump holds no stack. Perhaps profiling was " +
										"not active, or nothing was sampled yet."}
						</Empty>
					) : asTable ? (
						<FlameTable
							tree={tree}
							menu={(box, x, y) =>
								openMenu(x, y, middle(tree.text(box), 60), menu(tree, box))
							}
						/>
					) : (
						<Graph
							tree={tree}
							search={search}
							zoomKey={parameters["zoom"]}
							pins={parameters["pin"]}
							menu={menu}
						/>
					))
				}
			</Answered>
		</Card>
	);
}

function Said({ tree, asked, facts }: { tree: Tree; asked: Asked; facts: Facts | undefined }) {
	const { total, hidden_count, against } = tree.answer,
		change = tree.value(0) - tree.before(0);
	return (
		<>
			<span title={exact(total.bytes)}>{bytes(total.bytes)}</span> {asked.words} in{" "}
			{plural(total.count, "block")}
			{against && (
				<>
					{" "}
					·{" "}
					<span title={asked.weight === "bytes" ? exact(change) : undefined}>
						{signed(asked.weight === "bytes" ? bytes(change) : count(change))}
					</span>{" "}
					({tree.before(0) ? signed(percent(change, tree.before(0))) : "from nothing"})
					against {against.name}
				</>
			)}
			{facts && !against && (
				<span class="dim" title="Amounts are estimates of what there really was">
					{" "}
					·{" "}
					{facts.rate > 1
						? `a sample every ${bytes(facts.rate)}`
						: "everything was counted"}
				</span>
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
