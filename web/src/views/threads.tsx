// SPDX-License-Identifier: MIT OR Apache-2.0
// Which thread allocated what, what became of it, and what another one freed.
import type { ThreadsQuery } from "../app/endpoints";
import { useFacts } from "../app/facts";
import { useAsked, nsToSeconds } from "../app/recordings";
import { go, href, useRoute } from "../app/url";
import { adding, threadTerm } from "../parts/adding";
import { Card } from "../parts/card";
import { openMenu } from "../parts/menu";
import { Nothing } from "../parts/nothing";
import { Bytes, Count } from "../parts/number";
import { sortedBy, usePages } from "../parts/pages";
import { Share, Spark, Two } from "../parts/spark";
import { Answered } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { bytes, count, duration, plural } from "../parts/units";
import type { ViewProps } from "./views";

type Sort = NonNullable<ThreadsQuery["sort_by"]>;

interface Thread extends Record<Exclude<Sort, "name">, number> {
	name: string;
	spark: number[];
}

export function Threads({ id }: ViewProps) {
	const { parameters } = useRoute();
	const asked = useAsked();
	const sort = parameters["sort"] ?? "-allocated_bytes";
	const peak = useFacts(id).data?.peak.at_ns;
	const pages = usePages(
		id,
		"/data/{id}/threads",
		{
			...asked,
			alive_at: parameters["at"] ? `${parameters["at"]}s` : undefined,
			...sortedBy<Sort>(sort),
		},
		(answer: { threads: Thread[]; total_count: number }) => ({
			rows: answer.threads,
			count: answer.total_count,
		}),
		100,
	);
	const seen = pages.answer.data?.threads ?? [];
	const whole = seen.reduce((sum, t) => sum + t.allocated_bytes, 0);
	const busiest = [...seen].sort((a, b) => b.allocated_bytes - a.allocated_bytes)[0];
	const to = (t: Thread, term = ""): string =>
		adding([threadTerm(t.thread), term].filter(Boolean).join(" and "), "allocations");
	const pair = (
		key: "allocated" | "leaked" | "peak" | "temporary" | "freed_by_other",
		label: string,
		title: string,
		size: (t: Thread) => number,
		number: (t: Thread) => number,
		term: string | undefined,
	): Column<Thread, Sort> => ({
		key: `${key}_bytes` as const,
		label,
		title,
		number: true,
		width: "84px",
		sort: true,
		text: (t) => String(size(t)),
		cell: (t) =>
			number(t) ? (
				<Two below={plural(number(t), "block")}>
					<Bytes value={size(t)} to={term === undefined ? undefined : to(t, term)} />
				</Two>
			) : (
				<span class="dim">–</span>
			),
	});
	const columns: Column<Thread, Sort>[] = [
		{
			key: "thread",
			label: "thread",
			width: "minmax(112px, 1fr)",
			sort: true,
			ascending: true,
			text: (t) => `${t.name} (${t.thread})`,
			cell: (t) => (
				<>
					<span class="who">
						<strong>{t.name || "without a name"}</strong>
					</span>
					<span class="who-below dim">{t.thread}</span>
				</>
			),
		},
		{
			key: "spark",
			label: "over the run",
			title: "Bytes alive over the run",
			width: "minmax(80px, 2fr)",
			cell: (t) => <Spark values={t.spark} label={`bytes of ${t.name} alive over the run`} />,
		},
		{
			key: "allocated_bytes",
			label: "allocated",
			title: "All that it allocated",
			number: true,
			width: "minmax(108px, 0.6fr)",
			sort: true,
			cell: (t) => (
				<Share part={t.allocated_bytes} whole={whole}>
					<Bytes value={t.allocated_bytes} to={to(t)} />
				</Share>
			),
			text: (t) => String(t.allocated_bytes),
		},
		{
			key: "allocated_count",
			label: "blocks",
			number: true,
			width: "80px",
			sort: true,
			cell: (t) => <Count value={t.allocated_count} to={to(t)} />,
			text: (t) => String(t.allocated_count),
		},
		pair(
			"peak",
			"at the peak",
			"Alive when the whole program had most",
			(t) => t.peak_bytes,
			(t) => t.peak_count,
			peak === undefined ? undefined : `alive_at(${peak}ns)`,
		),
		pair(
			"leaked",
			"never freed",
			"What nobody freed",
			(t) => t.leaked_bytes,
			(t) => t.leaked_count,
			"leaked",
		),
		pair(
			"temporary",
			"temporary",
			"Freed by the very next event of its thread",
			(t) => t.temporary_bytes,
			(t) => t.temporary_count,
			"temporary",
		),
		pair(
			"freed_by_other",
			"others freed",
			"What another thread freed",
			(t) => t.freed_by_other_bytes,
			(t) => t.freed_by_other_count,
			"freed_by_other_thread",
		),
		{
			key: "first_ns",
			label: "from – to",
			title: "From its first allocation to the last",
			number: true,
			width: "72px",
			sort: true,
			ascending: true,
			text: (t) => `${nsToSeconds(t.first_ns)}–${nsToSeconds(t.last_ns)}`,
			cell: (t) => (
				<Two below={`– ${duration(t.last_ns / 1e9)}`}>
					<a
						class="number"
						href={href(
							{},
							{ from: nsToSeconds(t.first_ns), to: nsToSeconds(t.last_ns) },
						)}>
						{duration(t.first_ns / 1e9)}
					</a>
				</Two>
			),
		},
	];
	return (
		<Card
			name="threads"
			title="Threads"
			said={
				pages.answer.data && busiest
					? `${plural(pages.count, "thread")}, ${bytes(whole)} allocated` +
						(pages.count > 1
							? ` · most by ${busiest.name || busiest.thread}, ` +
								bytes(busiest.allocated_bytes)
							: "")
					: ""
			}>
			<Answered what="The threads" answer={pages.answer} lines={6}>
				{() =>
					pages.count === 0 ? (
						<Nothing title="No thread allocated anything that matches">
							No thread allocated anything.
						</Nothing>
					) : (
						<Table
							label="Threads"
							columns={columns}
							{...pages.rows}
							rowHeight={44}
							sort={sort}
							onSort={(next) => go({ sort: next })}
							nouns={pages.count === 1 ? "thread" : "threads"}
							onOpen={(t) => {
								location.hash = to(t);
							}}
							onMenu={(t, _, x, y) =>
								openMenu(x, y, `${t.name} (${t.thread})`, [
									{
										label: "Its allocations",
										hint: count(t.allocated_count),
										href: to(t),
									},
									{
										label: "Only this thread",
										href: adding(threadTerm(t.thread)),
									},
									{
										label: "Without this thread",
										href: adding(`thread != ${t.thread}`),
									},
									{
										label: "Flame graph",
										href: adding(threadTerm(t.thread), "flame"),
									},
									{
										label: "What it allocated and others freed",
										href: to(t, "freed_by_other_thread"),
									},
									{
										label: "What it freed of others",
										href: adding(
											`deallocation_thread = ${t.thread} and ` +
												"freed_by_other_thread",
											"allocations",
										),
									},
								])
							}
						/>
					)
				}
			</Answered>
		</Card>
	);
}
