// SPDX-License-Identifier: MIT OR Apache-2.0
// Services, hosts, builds, releases, labels, days of a fleet, and its recordings: each row leads to
// what is below it, down to a recording.
import { useEffect, useState } from "preact/hooks";
import type { FleetGroupsQuery, FleetRecordingsQuery } from "../app/endpoints";
import { find } from "../app/recordings";
import { go, href, useRoute } from "../app/url";
import { Card, Choice } from "../parts/card";
import { copy } from "../parts/clipboard";
import { openMenu } from "../parts/menu";
import { Bytes, Count } from "../parts/number";
import { sortedBy, usePages } from "../parts/pages";
import { Search } from "../parts/search";
import { Share, Spark, Two } from "../parts/spark";
import { Answered, Empty } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { withTerm } from "../parts/terms";
import { bytes, date, duration, middle, plural } from "../parts/units";
import {
	BELOW,
	ROWS,
	curvesLast,
	daySpan,
	fleetAsked,
	rate,
	termOf,
	type Group,
	type Groups,
	type Recordings,
	type Rows,
	type Sent,
} from "./data";

type Sort = NonNullable<FleetGroupsQuery["sort_by"]>;
type SentSort = NonNullable<FleetRecordingsQuery["sort_by"]>;

const none = (name: string): string => name || "(none)";

export const RowsChoice = ({ value }: { value: Rows }) => (
	<Choice
		label="Rows are"
		value={value}
		options={ROWS.map(([key, many]) => [key, many] as const)}
		onChange={(rows) =>
			go({ rows: rows === "service" ? "" : rows, sort: "", search: "", show: "" })
		}
	/>
);

/* Which label: typed once, then part of the address. */
export function LabelName() {
	const said = useRoute().parameters["label"] ?? "";
	const [text, setText] = useState(said);
	useEffect(() => setText(said), [said]);
	return (
		<input
			class="field search"
			aria-label="Name of the label"
			placeholder="label, such as zone"
			value={text}
			spellcheck={false}
			onInput={(event) => setText(event.currentTarget.value)}
			onChange={() => go({ label: text.trim() })}
			onKeyDown={(event) => {
				if (event.key === "Enter") go({ label: text.trim() });
			}}
		/>
	);
}

export function FleetList({ id }: { id: string }) {
	const { parameters } = useRoute();
	const rows = ROWS.find(([key]) => key === parameters["rows"])?.[0] ?? "service";
	if (rows === "recording") return <SentList id={id} />;
	return <GroupList id={id} rows={rows} />;
}

function growthOf(perSecond: number, live: number) {
	const text = rate(perSecond),
		much = perSecond * 86400 > live / 10 && text !== "–";
	return <span class={much ? "bad number" : "number"}>{text}</span>;
}

function GroupList({ id, rows }: { id: string; rows: Rows }) {
	const { parameters } = useRoute();
	const label = parameters["label"] ?? "";
	const sort = parameters["sort"] ?? (rows === "day" ? "-name" : "-live");
	const [, many, one] = ROWS.find(([key]) => key === rows)!;
	const missing = rows === "label" && !label;
	const pages = usePages(
		id,
		missing ? null : "/fleets/{id}/groups",
		{
			...fleetAsked(),
			by: rows,
			label_name: rows === "label" ? label : undefined,
			search: parameters["search"],
			spark: 48,
			...sortedBy<Sort>(sort),
		},
		(answer: Groups) => ({ rows: answer.groups, count: answer.total_count }),
		60,
	);
	const total = pages.answer.data?.total;
	/* What a row leads to: the level below it, of it alone. */
	const into = (g: Group, next: Rows | undefined = BELOW[rows]): string =>
		href(
			{},
			{
				...(rows === "day"
					? daySpan(g.name)
					: { filter: withTerm(parameters["filter"], termOf(rows, g.name, label)) }),
				rows: next && next !== "service" ? next : "",
				sort: "",
				search: "",
				show: "",
			},
		);
	const columns: Column<Group, Sort>[] = [
		{
			key: "name",
			label: rows === "label" ? label : one,
			width: "minmax(200px, 1fr)",
			sort: true,
			ascending: true,
			text: (g) => g.name,
			cell: (g) => (
				<>
					<a class="who" href={into(g)} title={none(g.name)}>
						<strong>{middle(none(g.name), rows === "build" ? 24 : 60)}</strong>
					</a>
					<span class="who-below dim">
						{[
							rows !== "host" && plural(g.hosts, "host"),
							rows !== "service" && plural(g.services, "service"),
							rows !== "build" && plural(g.builds, "build"),
						]
							.filter(Boolean)
							.join(" · ")}
					</span>
				</>
			),
		},
		{
			key: "spark",
			label: "",
			width: "112px",
			cell: (g) => <Spark values={g.spark} label={`bytes alive of ${none(g.name)}`} />,
		},
		{
			key: "live",
			label: "alive",
			title: "Bytes alive at the end of the time that is looked at",
			number: true,
			width: "minmax(120px, 0.35fr)",
			sort: true,
			cell: (g) => (
				<Share part={g.live_bytes} whole={total?.live_bytes ?? 0}>
					<Bytes value={g.live_bytes} />
				</Share>
			),
			text: (g) => String(g.live_bytes),
		},
		{
			key: "growth",
			label: "growth",
			title: "By the line of least squares through each recording, of what runs at once",
			number: true,
			width: "minmax(104px, 0.25fr)",
			sort: true,
			cell: (g) => growthOf(g.growth_per_second, g.live_bytes),
			text: (g) => String(g.growth_per_second),
		},
		{
			key: "peak",
			label: "peaks",
			title: "The sum of each whole recording's own peak",
			number: true,
			width: "96px",
			sort: true,
			cell: (g) => <Bytes value={g.peak_bytes} />,
			text: (g) => String(g.peak_bytes),
		},
		{
			key: "leaked",
			label: "leaked",
			title: "Never freed, in whole recordings",
			number: true,
			width: "96px",
			sort: true,
			cell: (g) => <Bytes value={g.leaked_bytes} />,
			text: (g) => String(g.leaked_bytes),
		},
		{
			key: "recordings",
			label: "recordings",
			number: true,
			width: "88px",
			sort: true,
			cell: (g) => <Count value={g.recordings} to={into(g, "recording")} />,
			text: (g) => String(g.recordings),
		},
		{
			key: "ended",
			label: "last seen",
			number: true,
			width: "112px",
			sort: true,
			cell: (g) => <span class="dim">{date(g.ended)}</span>,
			text: (g) => String(g.ended),
		},
	];
	return (
		<Card
			name="fleet-list"
			title={many[0]!.toUpperCase() + many.slice(1)}
			said={
				pages.answer.data && !missing
					? `${plural(pages.count, one, many)} · ${bytes(total?.live_bytes ?? 0)} alive`
					: ""
			}
			tools={
				<>
					{rows === "label" && <LabelName />}
					<Search label={`Search ${many}`} placeholder="part of a name" />
				</>
			}>
			{missing ? (
				<Empty title="Which label?">
					Recordings are sent with labels:{" "}
					<code>memoir fleet push -l zone=eu app.dat</code>. Write the name of one above.
				</Empty>
			) : (
				<Answered what={`The ${many}`} answer={pages.answer} lines={12}>
					{() =>
						pages.count === 0 ? (
							<Empty title={`No ${one} fits`}>
								Remove a term of the question, or look at a longer time.
							</Empty>
						) : (
							<Table
								label={many}
								columns={curvesLast(columns)}
								{...pages.rows}
								rowHeight={44}
								sort={sort}
								onSort={(next) => go({ sort: next })}
								nouns={many}
								onOpen={(g) => {
									location.hash = into(g);
								}}
								onMenu={(g, _, x, y) =>
									openMenu(x, y, middle(none(g.name), 40), [
										{ label: "What is in it", href: into(g) },
										{ label: "Its recordings", href: into(g, "recording") },
										{
											label: "What grows in it",
											href: `${into(g)}&show=growth`,
										},
										{ label: "Its flame graph", href: `${into(g)}&show=flame` },
										{
											label: "Compare it with…",
											href: href(
												{},
												{
													show: "compare",
													a: termOf(rows, g.name, label),
													rows: rows === "service" ? "" : rows,
												},
											),
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
			)}
		</Card>
	);
}

function SentList({ id }: { id: string }) {
	const { parameters } = useRoute();
	const sort = parameters["sort"] ?? "-started";
	const pages = usePages(
		id,
		"/fleets/{id}/recordings",
		{ ...fleetAsked(), ...sortedBy<SentSort>(sort) },
		(answer: Recordings) => ({ rows: answer.recordings, count: answer.total_count }),
		60,
	);
	/* The server may have the recording's own file. */
	const own = (r: Sent): string | undefined =>
		find(r.id)
			? href({ view: "overview", id: r.id }, { filter: "", from: "", to: "", at: "" })
			: undefined;
	const alone = (r: Sent): string =>
		href({}, { filter: termOf("recording", r.id, ""), rows: "", show: "flame", sort: "" });
	const columns: Column<Sent, SentSort>[] = [
		{
			key: "service",
			label: "recording",
			width: "minmax(220px, 1fr)",
			sort: true,
			ascending: true,
			text: (r) => r.id,
			cell: (r) => (
				<>
					<a class="who" href={own(r) ?? alone(r)} title={r.command || r.service}>
						<strong>{middle(r.service, 40)}</strong>
					</a>
					<span class="who-below dim" title={r.file}>
						{r.id.slice(0, 12)}
						{r.kind === "heap" ? " · heap profile" : ""}
						{own(r) ? " · open here" : ""}
						{r.labels.length ? ` · ${r.labels.join(" ")}` : ""}
					</span>
				</>
			),
		},
		{
			key: "host",
			label: "host",
			width: "minmax(100px, 0.4fr)",
			sort: true,
			ascending: true,
			text: (r) => r.host,
			cell: (r) => (
				<Two below={r.pid ? `pid ${r.pid}` : ""}>
					<span title={r.host}>{middle(r.host, 28)}</span>
				</Two>
			),
		},
		{
			key: "release",
			label: "release",
			width: "96px",
			sort: true,
			ascending: true,
			text: (r) => r.release,
			cell: (r) => <span title={r.build}>{r.release || r.build.slice(0, 8)}</span>,
		},
		{
			key: "peak",
			label: "peak",
			number: true,
			width: "96px",
			sort: true,
			cell: (r) => <Bytes value={r.peak_bytes} />,
			text: (r) => String(r.peak_bytes),
		},
		{
			key: "leaked",
			label: "leaked",
			number: true,
			width: "96px",
			sort: true,
			cell: (r) => <Bytes value={r.leaked_bytes} />,
			text: (r) => String(r.leaked_bytes),
		},
		{
			key: "growth",
			label: "growth",
			number: true,
			width: "112px",
			sort: true,
			cell: (r) => growthOf(r.growth_per_second, r.live_bytes || r.peak_bytes),
			text: (r) => String(r.growth_per_second),
		},
		{
			key: "started",
			label: "started",
			number: true,
			width: "120px",
			sort: true,
			cell: (r) => (
				<Two below={duration(Math.max(0, r.ended - r.started))}>{date(r.started)}</Two>
			),
			text: (r) => String(r.started),
		},
	];
	return (
		<Card
			name="fleet-list"
			title="Recordings"
			said={pages.answer.data ? plural(pages.count, "recording") : ""}>
			<Answered what="The recordings" answer={pages.answer} lines={12}>
				{() =>
					pages.count === 0 ? (
						<Empty title="No recording fits">
							Remove a term of the question, or look at a longer time.
						</Empty>
					) : (
						<Table
							label="Recordings"
							columns={columns}
							{...pages.rows}
							rowHeight={44}
							sort={sort}
							onSort={(next) => go({ sort: next })}
							nouns="recordings"
							onOpen={(r) => {
								location.hash = own(r) ?? alone(r);
							}}
							onMenu={(r, _, x, y) =>
								openMenu(x, y, `${r.service} on ${r.host}`, [
									...(own(r) ? [{ label: "Open it", href: own(r)! }] : []),
									{ label: "Its flame graph", href: alone(r) },
									{ label: "Copy its id", run: () => void copy(r.id, "Id") },
									{
										label: "Copy the path of its file",
										hint: middle(r.file, 30),
										run: () => void copy(`${r.host}:${r.file}`, "Path"),
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
