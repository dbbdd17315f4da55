// SPDX-License-Identifier: MIT OR Apache-2.0
// Source files by what goes through them; one file line by line, with what each line weighs.
import { useMemo } from "preact/hooks";
import { dataUrl, useAsked, useData } from "../app/recordings";
import { go, href, useRoute } from "../app/url";
import { adding, lineTerm, sourceTerm } from "../parts/adding";
import { Card } from "../parts/card";
import { copy } from "../parts/clipboard";
import { fileName } from "../parts/frames";
import { MeasureChoice, useMeasure, type Measured } from "../parts/measure";
import { openMenu } from "../parts/menu";
import { Nothing } from "../parts/nothing";
import { Bytes, Count } from "../parts/number";
import { usePages } from "../parts/pages";
import { Search } from "../parts/search";
import { Share } from "../parts/spark";
import { Answered, Banner, Empty } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { bytes, middle, plural } from "../parts/units";
import "../style/source.css";
import type { ViewProps } from "./views";

interface File {
	file: string;
	on_disk: boolean;
	bytes: number;
	count: number;
	self_bytes: number;
	self_count: number;
}
interface Weight {
	line: number;
	bytes: number;
	count: number;
	self_bytes: number;
	self_count: number;
	functions: string[];
}
interface Source {
	file: string;
	on_disk: boolean;
	hidden: string | null; /* why it is not shown, though it may be here */
	newer: boolean;
	bytes: number;
	count: number;
	lines: string[];
	weights: Weight[];
}
interface Line {
	line: number;
	text: string;
	weight: Weight | undefined;
}

function Files({ id }: ViewProps) {
	const { parameters } = useRoute();
	const measured = useMeasure();
	const asked = useAsked();
	const pages = usePages(
		id,
		"/data/{id}/sources",
		{ ...asked, ...measured.query, search: parameters["search"] },
		(answer: { sources: File[]; total_count: number }) => ({
			rows: answer.sources,
			count: answer.total_count,
		}),
		100,
	);
	const most = Math.max(1, ...(pages.answer.data?.sources ?? []).map((f) => f.bytes));
	const open = (f: File): string => href({}, { file: f.file, line: "", search: "" });
	const to = (f: File): string =>
		adding([sourceTerm(f.file), measured.term].filter(Boolean).join(" and "), "allocations", {
			at: "",
		});
	const columns: Column<File>[] = [
		{
			key: "file",
			label: "file",
			width: "minmax(280px, 1fr)",
			text: (f) => f.file,
			cell: (f) => (
				<>
					<span class="who">
						<a href={open(f)} title={f.file}>
							<strong>{fileName(f.file)}</strong>
						</a>
						{!f.on_disk && <span class="place">not shown</span>}
					</span>
					<span class="who-below dim" title={f.file}>
						{middle(f.file.slice(0, -fileName(f.file).length), 90)}
					</span>
				</>
			),
		},
		{
			key: "bytes",
			label: "total",
			title: "Bytes of stacks that go through it",
			number: true,
			width: "minmax(128px, 0.35fr)",
			cell: (f) => (
				<Share part={f.bytes} whole={most}>
					<Bytes value={f.bytes} to={to(f)} />
				</Share>
			),
			text: (f) => String(f.bytes),
		},
		{
			key: "self",
			label: "self",
			title: "Bytes that its own lines asked for",
			number: true,
			width: "96px",
			cell: (f) =>
				f.self_bytes ? <Bytes value={f.self_bytes} /> : <span class="dim">–</span>,
			text: (f) => String(f.self_bytes),
		},
		{
			key: "count",
			label: "blocks",
			number: true,
			width: "96px",
			cell: (f) => <Count value={f.count} to={to(f)} />,
			text: (f) => String(f.count),
		},
	];
	return (
		<Card
			name="sources"
			title="Source files"
			said={
				pages.answer.data
					? `${plural(pages.count, "file")} that stacks go through, by bytes ` +
						`${measured.words}`
					: ""
			}
			tools={
				<>
					<Search label="Search files" placeholder="part of a path" />
					<MeasureChoice measured={measured} />
				</>
			}>
			<Answered what="The source files" answer={pages.answer} lines={8}>
				{() =>
					pages.count === 0 ? (
						parameters["search"] ? (
							<Empty title={`No path contains “${parameters["search"]}”`}>
								<button
									type="button"
									class="button"
									onClick={() => go({ search: "" })}>
									Show all
								</button>
							</Empty>
						) : (
							<Nothing title="No source files">
								The programs of this recording carry no lines: build them with -g,
								or give their debug files with -d.
							</Nothing>
						)
					) : (
						<Table
							label="Source files"
							columns={columns}
							{...pages.rows}
							rowHeight={44}
							nouns={pages.count === 1 ? "file" : "files"}
							onOpen={(f) => {
								location.hash = open(f);
							}}
							onMenu={(f, _, x, y) =>
								openMenu(x, y, fileName(f.file), [
									{ label: "Open", href: open(f) },
									{
										label: "Only what goes through it",
										href: adding(sourceTerm(f.file)),
									},
									{ label: "Allocations", href: to(f) },
									{
										label: "Copy the path",
										run: () => void copy(f.file, "Path"),
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

/* A line's weight as a shade: the heaviest is full. */
const shade = (part: number, most: number): number =>
	part ? Math.max(1, Math.round(8 * Math.sqrt(part / most))) : 0;

function One({ id, file, measured }: { id: string; file: string; measured: Measured }) {
	const { parameters } = useRoute();
	const asked = useAsked();
	const answer = useData<Source>(
		dataUrl(id, "/data/{id}/source", { ...asked, ...measured.query, file }),
	);
	const data = answer.data;
	const lines = useMemo((): Line[] => {
		if (!data) return [];
		const weights = new Map(data.weights.map((w) => [w.line, w]));
		if (data.lines.length)
			return data.lines.map((text, i) => ({ line: i + 1, text, weight: weights.get(i + 1) }));
		return [...data.weights]
			.sort((a, b) => a.line - b.line)
			.map((w) => ({ line: w.line, text: w.functions.join(", "), weight: w }));
	}, [data]);
	const most = Math.max(1, ...(data?.weights ?? []).map((w) => w.bytes));
	/* Lines that ask for memory themselves; where there are none, those that lead to it. */
	const self = data?.weights.some((w) => w.self_bytes) ?? false;
	const heavy = useMemo(
		() =>
			[...(data?.weights ?? [])]
				.map((w) => ({ line: w.line, bytes: self ? w.self_bytes : w.bytes }))
				.filter((w) => w.bytes)
				.sort((a, b) => b.bytes - a.bytes)
				.slice(0, 5),
		[data],
	);
	const wanted = Number(parameters["line"]) || heavy[0]?.line;
	const start = lines.findIndex((l) => l.line === wanted);
	const to = (l: Line): string =>
		adding(
			[lineTerm(file, l.line), measured.term].filter(Boolean).join(" and "),
			"allocations",
			{ at: "" },
		);
	const columns: Column<Line>[] = [
		{
			key: "bytes",
			label: "total",
			title: "Bytes of stacks that go through this line",
			number: true,
			width: "80px",
			cell: (l) => l.weight && <Bytes value={l.weight.bytes} to={to(l)} />,
			text: (l) => String(l.weight?.bytes ?? ""),
		},
		{
			key: "self",
			label: "self",
			title: "Bytes that this line asked for itself",
			number: true,
			width: "80px",
			cell: (l) => (l.weight?.self_bytes ? <Bytes value={l.weight.self_bytes} /> : ""),
			text: (l) => String(l.weight?.self_bytes ?? ""),
		},
		{
			key: "count",
			label: "blocks",
			number: true,
			width: "72px",
			cell: (l) => l.weight && <Count value={l.weight.count} to={to(l)} />,
			text: (l) => String(l.weight?.count ?? ""),
		},
		{
			key: "line",
			label: "line",
			number: true,
			width: "48px",
			cell: (l) => <span class="dim">{l.line}</span>,
			text: (l) => String(l.line),
		},
		{
			key: "text",
			label: "source",
			width: "minmax(400px, 1fr)",
			cell: (l) => (
				<code
					class={`code heat-${shade(l.weight?.bytes ?? 0, most)}`}
					title={l.weight ? l.weight.functions.join(", ") : undefined}>
					{l.text.replaceAll("\t", "    ") || " "}
				</code>
			),
			text: (l) => l.text,
		},
	];
	return (
		<Card
			name="source"
			title={fileName(file)}
			said={
				data
					? `${bytes(data.bytes)} ${measured.words} in ` +
						`${plural(data.count, "block")} go through it`
					: ""
			}
			tools={
				<>
					<a class="button" href={href({}, { file: "", line: "" })}>
						All files
					</a>
					<MeasureChoice measured={measured} />
				</>
			}>
			<Answered what={fileName(file)} answer={answer} lines={16}>
				{(found) => (
					<>
						{found.newer && (
							<Banner>
								This file was changed after the program was built: lines may have
								moved.
							</Banner>
						)}
						{!found.on_disk &&
							(found.hidden ? (
								<Banner>
									{file} is not shown: {found.hidden}. Its weighed lines are
									below, by their functions.
								</Banner>
							) : (
								<Banner>
									{file} is not on this computer, so only its weighed lines are
									shown, by their functions. Start the server where the source is.
								</Banner>
							))}
						{heavy.length > 0 && (
							<p class="heavy">
								{self
									? "lines that asked for most"
									: "lines that most goes through"}
								:{" "}
								{heavy.map((w, i) => (
									<span key={w.line}>
										{i ? " · " : ""}
										<a class="link" href={href({}, { line: String(w.line) })}>
											{w.line}
										</a>{" "}
										{bytes(w.bytes)}
									</span>
								))}
							</p>
						)}
						{lines.length === 0 ? (
							<Nothing title="No line of this file matches">
								Nothing goes through it.
							</Nothing>
						) : (
							<Table
								label={`Lines of ${fileName(file)}`}
								columns={columns}
								count={lines.length}
								row={(i) => lines[i]}
								rowHeight={21}
								subject={`${file} ${found.lines.length}`}
								{...(start >= 0 ? { start } : {})}
								nouns="lines"
								rowClass={() => "source-row"}
								onMenu={(l, _, x, y) =>
									openMenu(x, y, `${fileName(file)}:${l.line}`, [
										...(l.weight
											? [
													{
														label: "Only what goes through this line",
														href: adding(lineTerm(file, l.line)),
													},
													{ label: "Allocations", href: to(l) },
													{
														label: "Flame graph",
														href: adding(
															lineTerm(file, l.line),
															"flame",
														),
													},
												]
											: []),
										{
											label: "Copy the place",
											run: () => void copy(`${file}:${l.line}`, "Place"),
										},
									])
								}
							/>
						)}
					</>
				)}
			</Answered>
		</Card>
	);
}

export function Source({ id }: ViewProps) {
	const measured = useMeasure();
	const file = useRoute().parameters["file"];
	return file ? <One key={file} id={id} file={file} measured={measured} /> : <Files id={id} />;
}
