// SPDX-License-Identifier: MIT OR Apache-2.0
// What grows in the fleet: functions whose memory becomes more while recordings run, and in how
// many of them.
import type { FleetGrowthQuery } from "../app/endpoints";
import { go, href, useRoute } from "../app/url";
import { Card, Choice } from "../parts/card";
import { copy } from "../parts/clipboard";
import { openMenu } from "../parts/menu";
import { Bytes } from "../parts/number";
import { sortedBy, usePages } from "../parts/pages";
import { Search } from "../parts/search";
import { Share, Spark } from "../parts/spark";
import { Answered, Empty } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { quote, withTerm } from "../parts/terms";
import { count, middle, plural } from "../parts/units";
import { shortName } from "../parts/frames";
import { curvesLast, fleetAsked, rate, type Growing, type Growths } from "./data";

type Sort = NonNullable<FleetGrowthQuery["sort_by"]>;

const TONE: Record<Growing["class"], string> = {
	growing: "tag bad",
	steady: "tag",
	shrinking: "tag",
};

export function FleetGrowth({ id }: { id: string }) {
	const { parameters } = useRoute();
	const sort = parameters["sort"] ?? "-growth";
	const by = parameters["by"] === "stack" ? "stack" : "responsible";
	const pages = usePages(
		id,
		"/fleets/{id}/growth",
		{ ...fleetAsked(), by, search: parameters["search"], spark: 48, ...sortedBy<Sort>(sort) },
		(answer: Growths) => ({ rows: answer.rows, count: answer.total_count }),
		60,
	);
	const first = pages.row(0);
	const term = (g: Growing): string => `responsible = ${quote(g.name)}`;
	const into = (g: Growing, more: Record<string, string>): string =>
		href(
			{},
			{ filter: withTerm(parameters["filter"], term(g)), sort: "", search: "", ...more },
		);
	const columns: Column<Growing, Sort>[] = [
		{
			key: "name",
			label: "function",
			width: "minmax(220px, 1fr)",
			sort: true,
			ascending: true,
			text: (g) => g.name,
			cell: (g) => (
				<>
					<a class="who" href={into(g, { show: "flame" })} title={g.name}>
						<strong>{middle(shortName(g.name || "(unknown)"), 70)}</strong>
					</a>
					<span class="who-below dim">
						{plural(g.services, "service")} · {plural(g.hosts, "host")}
					</span>
				</>
			),
		},
		{
			key: "class",
			label: "",
			width: "88px",
			cell: (g) => <span class={TONE[g.class]}>{g.class}</span>,
			text: (g) => g.class,
		},
		{
			key: "spark",
			label: "",
			width: "112px",
			cell: (g) => <Spark values={g.spark} label={`bytes alive of ${g.name}`} />,
		},
		{
			key: "growth",
			label: "growth",
			title: "By the line of least squares through each recording, of what runs at once",
			number: true,
			width: "minmax(120px, 0.3fr)",
			sort: true,
			cell: (g) => (
				<Share part={g.share} whole={1}>
					<span class="number">{rate(g.growth_per_second)}</span>
				</Share>
			),
			text: (g) => String(g.growth_per_second),
		},
		{
			key: "recordings",
			label: "grows in",
			title: "Recordings in which it has more in the end, of those that have it",
			number: true,
			width: "112px",
			sort: true,
			cell: (g) => (
				<a class="number" href={into(g, { rows: "recording", show: "" })}>
					{count(g.growing)} of {count(g.recordings)}
				</a>
			),
			text: (g) => `${g.growing}/${g.recordings}`,
		},
		{
			key: "before",
			label: "before",
			title: "Alive at the begin of the time that is looked at",
			number: true,
			width: "96px",
			sort: true,
			cell: (g) => <Bytes value={g.before_bytes} />,
			text: (g) => String(g.before_bytes),
		},
		{
			key: "live",
			label: "alive",
			title: "Alive at the end of it",
			number: true,
			width: "96px",
			sort: true,
			cell: (g) => <Bytes value={g.live_bytes} />,
			text: (g) => String(g.live_bytes),
		},
	];
	return (
		<Card
			name="fleet-growth"
			title="What grows"
			said={
				first && sort === "-growth" && first.class === "growing" ? (
					<span class="bad">
						{middle(shortName(first.name), 40)} grows by {rate(first.growth_per_second)}{" "}
						in {count(first.growing)} of {plural(first.recordings, "recording")}
					</span>
				) : (
					pages.answer.data && "nothing that stands out"
				)
			}
			tools={
				<>
					<Search label="Search functions" placeholder="part of a name" />
					<Choice
						label="Rows are"
						value={by}
						options={[
							["responsible", "functions"],
							["stack", "stacks"],
						]}
						onChange={(key) => go({ by: key === "stack" ? key : "" })}
					/>
				</>
			}>
			<Answered what="What grows" answer={pages.answer} lines={12}>
				{() =>
					pages.count === 0 ? (
						<Empty title="Nothing fits">
							Remove a term of the question, or look at a longer time.
						</Empty>
					) : (
						<Table
							label="What grows"
							columns={curvesLast(columns)}
							{...pages.rows}
							rowHeight={44}
							sort={sort}
							onSort={(next) => go({ sort: next })}
							nouns={by === "stack" ? "stacks" : "functions"}
							onOpen={(g) => {
								location.hash = into(g, { show: "flame" });
							}}
							onMenu={(g, _, x, y) =>
								openMenu(x, y, middle(shortName(g.name), 40), [
									{ label: "Its flame graph", href: into(g, { show: "flame" }) },
									{
										label: "Services that have it",
										href: into(g, { show: "", rows: "" }),
									},
									{
										label: "Hosts that have it",
										href: into(g, { show: "", rows: "host" }),
									},
									{
										label: "Recordings that have it",
										href: into(g, { show: "", rows: "recording" }),
									},
									{
										label: "Copy the name",
										run: () => void copy(g.name, "Name"),
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
