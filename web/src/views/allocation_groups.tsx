// SPDX-License-Identifier: MIT OR Apache-2.0
// Allocations by the stack that made them: sums, a curve of what was alive, and who asked.
import { useCallback, useRef } from "preact/hooks";
import type { GroupNumber } from "../app/endpoints";
import { dataUrl, seconds, time, useAsked, useData, type Timeval } from "../app/recordings";
import { go, href, useRoute } from "../app/url";
import { adding, alone, stackTerm } from "../parts/adding";
import { Card } from "../parts/card";
import type { Frame } from "../parts/frames";
import { openMenu } from "../parts/menu";
import { Nothing } from "../parts/nothing";
import { Bytes, Count, Sum } from "../parts/number";
import { sortedBy, usePages, useSettled } from "../parts/pages";
import { Share, Spark, Two } from "../parts/spark";
import { Stack, stackHeight, stackText } from "../parts/stack";
import { Answered } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { bytes, duration, percent, plural } from "../parts/units";
import { blocksOf, FLAT, ROW, stackItems, Tools, useOpen, When, Who } from "./allocation_parts";
import type { ViewProps } from "./views";

type Of<Name extends GroupNumber> = Name; /* no others are there */
type Sums = Record<
	Of<
		| "size"
		| "usable_size"
		| "min_size"
		| "max_size"
		| "leaked_count"
		| "leaked_size"
		| "allocated_count"
	>,
	number
> &
	Record<`${Of<"min_timestamp" | "max_timestamp">}_relative`, Timeval> &
	Record<`${Of<"min_timestamp" | "max_timestamp">}_relative_p`, number> &
	Record<Of<"interval">, Timeval> &
	Partial<Record<Of<"peak_size" | "peak_count">, number>> &
	Partial<Record<`${Of<"max_total_usage_first_seen_at">}_relative`, Timeval | null>> &
	Partial<Record<`${Of<"max_total_usage_first_seen_at">}_relative_p`, number | null>>;
interface Group {
	all: Sums;
	only_matched: Sums;
	backtrace_id: number;
	backtrace: Frame[];
	spark?: number[];
}
interface Answer {
	groups: Group[];
	total_count: number;
}
type Part = "only_matched" | "all";
type Sort = `${Part}.${GroupNumber}`;

export function AllocationGroups({ id }: ViewProps) {
	const { parameters } = useRoute();
	const asked = useAsked();
	const figures = parameters["figures"] ?? "matched";
	const parts: Part[] =
		figures === "both"
			? ["only_matched", "all"]
			: figures === "whole"
				? ["all"]
				: ["only_matched"];
	const sort = parameters["sort"] || `-${parts[0]}.size`;
	const full = parameters["full"] === "1";
	const open = useOpen(),
		unfolded = useOpen("unfold");
	const query = { ...asked, alive_at: time(parameters["at"]) };
	const total = useData<{ ok: boolean; bytes: number; count: number }>(
		dataUrl(id, "/data/{id}/matches", query),
	);
	const order = { ...query, ...sortedBy<Sort>(sort) };
	const pick = (answer: Answer): { rows: Group[]; count: number } => ({
		rows: answer.groups,
		count: answer.total_count,
	});
	/* Whole stacks are most of an answer: no more of them than a screen or so. */
	const pages = usePages(id, "/data/{id}/groups", order, pick, 30);
	/* Curves take the server longer than all the rest.  Who opens the view asks for them at once;
	 * of what is moved about they come when the rows are there, and stay. */
	const stays = useSettled(pages.answer.fresh, 200);
	const opening = useRef(true);
	if (stays) opening.current = false;
	const looking = stays || opening.current;
	const curves = usePages(
		id,
		looking ? "/data/{id}/groups" : null,
		{ ...order, spark: 60, stacks: false },
		pick,
		60,
		true,
	);
	const spark = (g: Group, index: number): number[] | undefined => {
		const curve = curves.row(index);
		return curve?.backtrace_id === g.backtrace_id ? curve.spark : undefined;
	};
	const onRange = useCallback(
		(from: number, to: number): void => {
			pages.onRange(from, to);
			curves.onRange(from, to);
		},
		[pages.onRange, curves.onRange],
	);
	const whole = total.data?.bytes ?? 0;
	const columns: Column<Group, Sort>[] = [
		{
			key: "who",
			label: "allocated in",
			width: "minmax(232px, 1.4fr)",
			cell: (g) => <Who frames={g.backtrace} />,
			text: (g) => stackText(g.backtrace).replaceAll("\n", " ← "),
		},
		{
			key: "curve",
			label: "over the run",
			title: "Bytes alive over the run",
			width: "minmax(96px, 1fr)",
			cell: (g, index) => (
				<Spark
					values={spark(g, index)}
					label={`bytes alive over the run, at most ${bytes(g.all.peak_size ?? 0)}`}
				/>
			),
		},
		...parts.flatMap((part): Column<Group, Sort>[] => {
			const sums = (g: Group): Sums => g[part];
			const band =
				figures === "both"
					? { group: part === "all" ? "the whole stack" : "what matches" }
					: {};
			const column = (
				key: GroupNumber,
				label: string,
				width: string,
				title: string,
				cell: (s: Sums, g: Group) => preact.ComponentChildren,
				text: (s: Sums) => string,
				ascending = false,
			): Column<Group, Sort> => ({
				key: `${part}.${key}` as const,
				label,
				width,
				title,
				number: true,
				sort: true,
				ascending,
				...band,
				cell: (g) => cell(sums(g), g),
				text: (g) => text(sums(g)),
			});
			const mine = (g: Group): string =>
				part === "all"
					? alone(stackTerm(g.backtrace_id), "allocations", FLAT)
					: blocksOf(g.backtrace_id);
			const never = (g: Group): string =>
				(part === "all" ? alone : adding)(
					`${stackTerm(g.backtrace_id)} and leaked`,
					"allocations",
					FLAT,
				);
			return [
				column(
					"size",
					"bytes",
					"100px",
					part === "all"
						? "Bytes that were asked for, and what the allocator gave more"
						: "Bytes that were asked for, and their share",
					(s, g) =>
						part === "all" ? (
							<Two
								below={
									s.usable_size > s.size
										? `+ ${bytes(s.usable_size - s.size)}`
										: ""
								}>
								<Bytes value={s.size} to={mine(g)} />
							</Two>
						) : (
							<Share part={s.size} whole={whole}>
								<Bytes value={s.size} to={mine(g)} />
							</Share>
						),
					(s) => String(s.size),
				),
				column(
					"allocated_count",
					"blocks",
					"84px",
					"How many, and how large",
					(s, g) => (
						<Two
							below={
								s.min_size === s.max_size
									? `${bytes(s.min_size)} each`
									: `${bytes(s.min_size)}–${bytes(s.max_size)}`
							}>
							<Count value={s.allocated_count} to={mine(g)} />
						</Two>
					),
					(s) => String(s.allocated_count),
				),
				column(
					"leaked_count",
					"never freed",
					"84px",
					"Blocks that were never freed, and their bytes",
					(s, g) =>
						s.leaked_count ? (
							<Two below={bytes(s.leaked_size)}>
								<Count value={s.leaked_count} to={never(g)} />
							</Two>
						) : (
							<span class="dim">0</span>
						),
					(s) => String(s.leaked_count),
				),
				column(
					"min_timestamp",
					"first",
					"72px",
					"The first allocation, after the start",
					(s) => (
						<When
							at={s.min_timestamp_relative}
							part={s.min_timestamp_relative_p}
							to={href({}, { at: String(seconds(s.min_timestamp_relative)) })}
						/>
					),
					(s) => String(seconds(s.min_timestamp_relative)),
					true,
				),
				column(
					"max_timestamp",
					"last",
					"72px",
					"The last allocation",
					(s) => (
						<When
							at={s.max_timestamp_relative}
							part={s.max_timestamp_relative_p}
							to={href({}, { at: String(seconds(s.max_timestamp_relative)) })}
						/>
					),
					(s) => String(seconds(s.max_timestamp_relative)),
				),
				column(
					"interval",
					"interval",
					"72px",
					"From the first to the last",
					(s) => duration(seconds(s.interval)),
					(s) => String(seconds(s.interval)),
				),
				...(part === "all"
					? [
							column(
								"max_total_usage_first_seen_at",
								"most at",
								"88px",
								"When this stack had most alive, and how much",
								(s) =>
									s.max_total_usage_first_seen_at_relative ? (
										<Two
											below={
												s.peak_size === undefined
													? percent(
															s.max_total_usage_first_seen_at_relative_p ??
																0,
															1,
														)
													: bytes(s.peak_size)
											}>
											<a
												class="number"
												href={href(
													{},
													{
														at: String(
															seconds(
																s.max_total_usage_first_seen_at_relative,
															),
														),
													},
												)}>
												{duration(
													seconds(
														s.max_total_usage_first_seen_at_relative,
													),
												)}
											</a>
										</Two>
									) : (
										<span class="dim">–</span>
									),
								(s) =>
									String(
										seconds(
											s.max_total_usage_first_seen_at_relative ?? undefined,
										),
									),
								true,
							),
						]
					: []),
			];
		}),
	];
	const detail = useCallback(
		(g: Group) => {
			const all = full || unfolded.has(g.backtrace_id);
			return full || open.has(g.backtrace_id)
				? {
						height: stackHeight(g.backtrace, all),
						content: (
							<Stack
								frames={g.backtrace}
								all={all}
								onAll={() => unfolded.toggle(g.backtrace_id)}
							/>
						),
					}
				: undefined;
		},
		[full, parameters["open"], parameters["unfold"], parameters["filter"]],
	);
	return (
		<Card
			name="allocations"
			title="Allocations"
			said={
				total.data?.ok && pages.answer.data ? (
					<>
						<Sum bytes={total.data.bytes} blocks={total.data.count} /> of{" "}
						{plural(pages.count, "stack")}
						{parameters["at"] ? ` alive at ${duration(Number(parameters["at"]))}` : ""}
					</>
				) : (
					""
				)
			}
			tools={<Tools full={full} list="grouped" figures={figures} />}>
			<Answered what="The allocations" answer={pages.answer} lines={12}>
				{() =>
					pages.count === 0 ? (
						<Nothing title="No allocation matches">
							This recording holds no allocations: the program made none, or all were
							culled.
						</Nothing>
					) : (
						<Table
							label="Allocations by stack"
							columns={columns}
							{...pages.rows}
							onRange={onRange}
							subject={`${pages.subject} ${full}`}
							rowHeight={ROW}
							sort={sort}
							onSort={(next) => go({ sort: next })}
							nouns={pages.count === 1 ? "stack" : "stacks"}
							detail={detail}
							onOpen={(g) => open.toggle(g.backtrace_id)}
							onMenu={(g, _, x, y) =>
								openMenu(x, y, "This stack", [
									{
										label: "Its allocations one by one",
										href: blocksOf(g.backtrace_id),
									},
									...stackItems(g.backtrace_id, g.backtrace),
								])
							}
						/>
					)
				}
			</Answered>
		</Card>
	);
}
