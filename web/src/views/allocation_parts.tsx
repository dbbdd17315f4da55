// SPDX-License-Identifier: MIT OR Apache-2.0
// What both lists of allocations share: who asked for a block, when, the rows that are open, the
// menu of a stack and the choices above the table.
import { useMemo } from "preact/hooks";
import { seconds, type Timeval } from "../app/recordings";
import { go, href, useRoute } from "../app/url";
import { adding, functionTerm, stackTerm } from "../parts/adding";
import { Choice } from "../parts/card";
import { copy } from "../parts/clipboard";
import { asker, frameName, framePlace, shortName, type Frame } from "../parts/frames";
import type { Item } from "../parts/menu";
import { Two } from "../parts/spark";
import { Chain, stackText } from "../parts/stack";
import { duration, middle, percent } from "../parts/units";
import { whoseItems } from "../parts/whose";
import { callersOf } from "./callers";

export const ROW = 44;

export function Who({ frames }: { frames: readonly Frame[] }) {
	const frame = asker(frames);
	return (
		<>
			<span class="who">
				<strong>{frame ? middle(shortName(frameName(frame)), 90) : "no stack"}</strong>
				{frame && framePlace(frame) && (
					<>
						{" "}
						<span class="place">{framePlace(frame)}</span>
					</>
				)}
				{frame?.function && (
					<a
						class="who-callers"
						href={callersOf(frame.function)}
						aria-label={`Callers of ${middle(shortName(frame.function), 60)}`}
						title="Its callers and callees">
						⇅
					</a>
				)}
			</span>
			<span class="who-below">
				<Chain frames={frames} from={1} />
			</span>
		</>
	);
}

/* When something was: seconds since the start, and how far into the run. */
export const When = ({
	at,
	part,
	to,
}: {
	at: Timeval | null | undefined;
	part: number | null | undefined;
	to?: string;
}) =>
	at ? (
		<Two below={percent(part ?? 0, 1)}>
			{to ? (
				<a class="number" href={to}>
					{duration(seconds(at))}
				</a>
			) : (
				duration(seconds(at))
			)}
		</Two>
	) : (
		<span class="dim">–</span>
	);

/* Rows that are open, or whose frames are all shown: in the address, as numbers. */
export function useOpen(key: "open" | "unfold" = "open"): {
	has: (id: number) => boolean;
	toggle: (id: number) => void;
} {
	const said = useRoute().parameters[key] ?? "";
	const ids = useMemo(() => new Set(said.split(",").filter(Boolean).map(Number)), [said]);
	return {
		has: (id) => ids.has(id),
		toggle: (id) => {
			const next = new Set(ids);
			if (!next.delete(id)) next.add(id);
			go({ [key]: [...next].join(",") }, true);
		},
	};
}

export const FLAT = { list: "flat", open: "", sort: "" };
export const blocksOf = (id: number): string => adding(stackTerm(id), "allocations", FLAT);

export function stackItems(id: number, frames: readonly Frame[]): Item[] {
	const frame = asker(frames);
	const name = frame?.function;
	return [
		{ label: "Only this stack", href: adding(stackTerm(id), undefined, { open: "" }) },
		{
			label: "Without this stack",
			href: adding(`backtrace != ${id}`, undefined, { open: "" }),
		},
		...(name
			? [
					{
						label: "Only through",
						hint: middle(shortName(name), 36),
						href: adding(functionTerm(name), undefined, { open: "" }),
					},
					{
						label: "Without",
						hint: middle(shortName(name), 36),
						href: adding(
							`function != ${functionTerm(name).slice("function = ".length)}`,
							undefined,
							{ open: "" },
						),
					},
				]
			: []),
		...(name
			? [
					{
						label: "Callers and callees of",
						hint: middle(shortName(name), 36),
						href: callersOf(name),
					},
				]
			: []),
		...(frame ? whoseItems({ name, module: frame.library }, frame.kind === "program") : []),
		{ label: "Flame graph of this stack", href: adding(stackTerm(id), "flame") },
		...(frame?.source
			? [
					{
						label: "Source",
						hint: framePlace(frame),
						href: href(
							{ view: "source" },
							{ file: frame.source, line: String(frame.line ?? "") },
						),
					},
				]
			: []),
		{ label: "Copy the stack", run: () => void copy(stackText(frames), "Stack") },
	];
}

export function Tools({
	full,
	list,
	figures,
}: {
	full: boolean;
	list: "grouped" | "flat";
	figures: string;
}) {
	return (
		<>
			{list === "grouped" && (
				<Choice
					label="Figures"
					value={figures}
					options={[
						["matched", "matching", "Figures of what matches the question"],
						["whole", "whole stack", "Figures of all that each stack allocated"],
						["both", "both"],
					]}
					onChange={(value) =>
						go({ figures: value === "matched" ? "" : value, sort: "" })
					}
				/>
			)}
			<Choice
				label="Stacks"
				value={full ? "full" : "short"}
				options={[
					[
						"short",
						"short stacks",
						"The program's own functions from the responsible one outwards",
					],
					["full", "full"],
				]}
				onChange={(value) => go({ full: value === "full" ? "1" : "", open: "" })}
			/>
			<Choice
				label="List"
				value={list}
				options={[
					["grouped", "by stack"],
					["flat", "one by one"],
				]}
				onChange={(value) =>
					go({ list: value === "flat" ? "flat" : "", sort: "", open: "" })
				}
			/>
		</>
	);
}
