// SPDX-License-Identifier: MIT OR Apache-2.0
// The address space over time: how full each stretch of addresses was, or what of it was resident,
// and which stacks hold the one that was chosen.  Time goes to the right, addresses upwards; each
// area is a stretch between gaps.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { dataUrl, nsToSeconds, time, useAsked, useData } from "../app/recordings";
import { token, useTheme } from "../app/theme";
import { go, href, useRoute } from "../app/url";
import { adding, addressTerm, stackTerm } from "../parts/adding";
import { Card, Choice } from "../parts/card";
import { copy } from "../parts/clipboard";
import { asker, frameName, framePlace, shortName, type Frame } from "../parts/frames";
import { openMenu } from "../parts/menu";
import { Nothing } from "../parts/nothing";
import { Bytes, Count } from "../parts/number";
import { usePages } from "../parts/pages";
import { Share, Two } from "../parts/spark";
import { Chain, stackText } from "../parts/stack";
import { Answered } from "../parts/states";
import { Table, type Column } from "../parts/table";
import { hideTip, showTip } from "../parts/tooltip";
import { bytes, duration, middle, percent, plural } from "../parts/units";
import "../style/address.css";
import type { ViewProps } from "./views";

interface Area {
	start: number;
	end: number;
	start_s: string;
	end_s: string;
	cell_bytes: number;
	rows: number;
	cells: number[];
	resident?: number[]; /* the same of what was in memory */
}
interface Space {
	from_ns: number;
	to_ns: number;
	xs_ns: number[];
	columns: number;
	areas: Area[];
}
interface Holder {
	backtrace_id: number;
	bytes: number;
	count: number;
	slack_bytes: number;
	address_min: number;
	address_max: number;
	address_min_s: string;
	address_max_s: string;
	oldest_ns: number;
	newest_ns: number;
	backtrace: Frame[];
}
interface Holders {
	at_ns: number;
	bytes: number;
	count: number;
	total_count: number;
	stacks: Holder[];
}
interface Region {
	low: number;
	high: number;
}

const hex = (value: number): string => value.toString(16);
const asText = (r: Region): string => `${hex(r.low)}-${hex(r.high)}`;
function parseRegion(text: string | undefined): Region | undefined {
	const match = /^([0-9a-f]{1,16})-([0-9a-f]{1,16})$/.exec(text ?? "");
	const region = match && { low: parseInt(match[1]!, 16), high: parseInt(match[2]!, 16) };
	return region && region.low < region.high ? region : undefined;
}

/* What of a cell is in memory: within blocks, and beside them. */
function partsOf(area: Area, at: number): { held: number; beside: number } {
	const used = area.cells[at] ?? 0,
		resident = area.resident?.[at] ?? used;
	return area.resident
		? { held: Math.min(used, resident), beside: Math.max(0, resident - used) }
		: { held: used, beside: 0 };
}

/* Colours of fullness: from the ground to the accent; what is resident and in no block is of the
 * third colour. */
function painter(): (parts: { held: number; beside: number }) => number[] {
	const parse = (name: string): number[] =>
		(/^#(..)(..)(..)/.exec(token(name))?.slice(1) ?? ["80", "80", "80"]).map((h) =>
			parseInt(h, 16),
		);
	const low = parse("sunk"),
		high = parse("accent"),
		other = parse("third");
	return ({ held, beside }) => {
		const sum = held + beside,
			part = sum === 0 ? 0 : 0.15 + 0.85 * Math.min(1, sum / 255);
		return low.map((ground, k) => {
			const full = sum ? (held * high[k]! + beside * other[k]!) / sum : ground;
			return ground + part * (full - ground);
		});
	};
}

interface Cell {
	column: number;
	row: number;
}

/* One area: its picture, a cursor that the mouse and the arrows move, and a stretch that is
 * dragged. */
function Picture({
	area,
	space,
	height,
	chosen,
	at,
	onCell,
	onZoom,
}: {
	area: Area;
	space: Space;
	height: number;
	chosen: Region | undefined;
	at: number | undefined;
	onCell: (cell: Cell) => void;
	onZoom: (from: Cell, to: Cell) => void;
}) {
	const canvas = useRef<HTMLCanvasElement>(null);
	const [cursor, setCursor] = useState<Cell>();
	const drag = useRef<{ from: Cell; moved: boolean } | undefined>(undefined);
	const [dragged, setDragged] = useState<{ from: Cell; to: Cell }>();
	const theme = useTheme();
	useEffect(() => {
		const element = canvas.current,
			context = element?.getContext("2d");
		if (!element || !context) return;
		element.width = space.columns;
		element.height = area.rows;
		const image = context.createImageData(space.columns, area.rows),
			paint = painter();
		for (let row = 0; row < area.rows; row++) {
			for (let column = 0; column < space.columns; column++) {
				const to = 4 * ((area.rows - 1 - row) * space.columns + column);
				image.data.set([...paint(partsOf(area, row * space.columns + column)), 255], to);
			}
		}
		context.putImageData(image, 0, 0);
	}, [area, space, theme]);
	const cellAt = (event: MouseEvent): Cell => {
		const box = canvas.current!.getBoundingClientRect();
		const clamp = (value: number, most: number): number =>
			Math.max(0, Math.min(most - 1, Math.floor(value)));
		return {
			column: clamp(((event.clientX - box.left) / box.width) * space.columns, space.columns),
			row:
				area.rows -
				1 -
				clamp(((event.clientY - box.top) / box.height) * area.rows, area.rows),
		};
	};
	const low = (row: number): number => area.start + row * area.cell_bytes;
	const said = (cell: Cell): string[] => {
		const place = cell.row * space.columns + cell.column;
		const at = duration((space.xs_ns[cell.column + 1] ?? space.to_ns) / 1e9);
		const used = percent(area.cells[place] ?? 0, 255);
		return area.resident
			? [
					`${percent(area.resident[place] ?? 0, 255)} of ${bytes(area.cell_bytes)} ` +
						`resident, ${used} in blocks at ${at}`,
				]
			: [`${used} of ${bytes(area.cell_bytes)} in use at ${at}`];
	};
	const words = (cell: Cell): string[] => [
		`0x${hex(low(cell.row))} – 0x${hex(Math.min(area.end, low(cell.row + 1)))}`,
		...said(cell),
	];
	const keys = (event: KeyboardEvent): void => {
		const here = cursor ?? { column: Math.floor(space.columns / 2), row: 0 };
		const step = event.shiftKey ? 10 : 1;
		const moves: Record<string, Cell> = {
			ArrowLeft: { column: -step, row: 0 },
			ArrowRight: { column: step, row: 0 },
			ArrowUp: { column: 0, row: step },
			ArrowDown: { column: 0, row: -step },
		};
		const move = moves[event.key];
		if (move)
			setCursor({
				column: Math.max(0, Math.min(space.columns - 1, here.column + move.column)),
				row: Math.max(0, Math.min(area.rows - 1, here.row + move.row)),
			});
		else if (event.key === "Enter" && cursor) onCell(cursor);
		else return;
		event.preventDefault();
	};
	const share = (value: number, whole: number): string => `${(100 * value) / whole}%`;
	const span = area.end - area.start;
	const mark =
		chosen && chosen.high > area.start && chosen.low < area.end
			? {
					bottom: share(Math.max(0, chosen.low - area.start), span),
					height: share(
						Math.min(chosen.high, area.end) - Math.max(chosen.low, area.start),
						span,
					),
				}
			: undefined;
	const rows = dragged && [
		Math.min(dragged.from.row, dragged.to.row),
		Math.max(dragged.from.row, dragged.to.row) + 1,
	];
	return (
		<div
			class="area-picture"
			style={{ height: `${height}px` }}
			tabIndex={0}
			role="application"
			aria-roledescription="map"
			onKeyDown={keys}
			aria-label={
				`Addresses 0x${area.start_s.replace(/^0+/, "").toLowerCase()} to 0x` +
				`${area.end_s.replace(/^0+/, "").toLowerCase()} over time. ` +
				(cursor
					? words(cursor).join(": ")
					: "Arrows move a cursor, Enter asks who holds the place.")
			}
			onMouseMove={(event) => {
				const cell = cellAt(event);
				setCursor(cell);
				if (drag.current && Math.abs(cell.row - drag.current.from.row) > 1) {
					drag.current.moved = true;
					setDragged({ from: drag.current.from, to: cell });
				}
				showTip(
					event.clientX,
					event.clientY,
					<>
						{words(cell).map((line, i) => (
							<div key={i} class={i ? "" : "mono"}>
								{line}
							</div>
						))}
						<div class="dim">click: who holds it · drag: look closer</div>
					</>,
				);
			}}
			onMouseDown={(event) => {
				if (event.button === 0) drag.current = { from: cellAt(event), moved: false };
			}}
			onMouseUp={(event) => {
				const was = drag.current;
				drag.current = undefined;
				setDragged(undefined);
				if (was?.moved) onZoom(was.from, cellAt(event));
				else if (was) onCell(cellAt(event));
			}}
			onMouseLeave={() => {
				hideTip();
				drag.current = undefined;
				setDragged(undefined);
			}}>
			<canvas ref={canvas} />
			{at !== undefined && at >= space.from_ns && at <= space.to_ns && (
				<div
					class="area-moment"
					style={{ left: share(at - space.from_ns, space.to_ns - space.from_ns) }}
				/>
			)}
			{mark && <div class="area-chosen" style={mark} />}
			{rows && (
				<div
					class="area-drag"
					style={{
						bottom: share(rows[0]!, area.rows),
						height: share(rows[1]! - rows[0]!, area.rows),
					}}
				/>
			)}
			{cursor && (
				<div
					class="area-cursor"
					style={{
						left: share(cursor.column, space.columns),
						width: share(1, space.columns),
						bottom: share(cursor.row, area.rows),
						height: share(1, area.rows),
					}}
				/>
			)}
		</div>
	);
}

function HoldersCard({ id, region }: { id: string; region: Region | undefined }) {
	const { parameters } = useRoute();
	const asked = useAsked();
	const query = {
		...asked,
		at: time(parameters["at"]),
		...(region
			? { address_min: `0x${hex(region.low)}`, address_max: `0x${hex(region.high - 1)}` }
			: {}),
	};
	const pages = usePages(
		id,
		"/data/{id}/holders",
		query,
		(answer: Holders) => ({ rows: answer.stacks, count: answer.total_count }),
		50,
	);
	const data = pages.answer.data;
	const to = (h: Holder): string =>
		adding(
			[
				stackTerm(h.backtrace_id),
				...(region ? [addressTerm(region.low, region.high)] : []),
			].join(" and "),
			"allocations",
			{ list: "flat", at: data ? nsToSeconds(data.at_ns) : "" },
		);
	const columns: Column<Holder>[] = [
		{
			key: "who",
			label: "held by",
			width: "minmax(260px, 1fr)",
			text: (h) => stackText(h.backtrace).replaceAll("\n", " ← "),
			cell: (h) => {
				const frame = asker(h.backtrace);
				return (
					<>
						<span class="who">
							<strong>
								{frame ? middle(shortName(frameName(frame)), 90) : "no stack"}
							</strong>
							{frame && <span class="place">{framePlace(frame)}</span>}
						</span>
						<span class="who-below">
							<Chain frames={h.backtrace} from={1} />
						</span>
					</>
				);
			},
		},
		{
			key: "bytes",
			label: "bytes",
			number: true,
			width: "minmax(120px, 0.35fr)",
			cell: (h) => (
				<Share part={h.bytes} whole={data?.bytes ?? 0}>
					<Bytes value={h.bytes} to={to(h)} />
				</Share>
			),
			text: (h) => String(h.bytes),
		},
		{
			key: "count",
			label: "blocks",
			number: true,
			width: "80px",
			cell: (h) => <Count value={h.count} to={to(h)} />,
			text: (h) => String(h.count),
		},
		{
			key: "slack",
			label: "slack",
			title: "What the allocator gave more than was asked for",
			number: true,
			width: "80px",
			cell: (h) => <Bytes value={h.slack_bytes} />,
			text: (h) => String(h.slack_bytes),
		},
		{
			key: "age",
			label: "since",
			title: "When the oldest and the newest of them were allocated",
			number: true,
			width: "80px",
			text: (h) => nsToSeconds(h.oldest_ns),
			cell: (h) => (
				<Two below={`– ${duration(h.newest_ns / 1e9)}`}>
					<a class="number" href={href({}, { at: nsToSeconds(h.oldest_ns) })}>
						{duration(h.oldest_ns / 1e9)}
					</a>
				</Two>
			),
		},
		{
			key: "where",
			label: "from – to",
			width: "128px",
			text: (h) => `0x${hex(h.address_min)}-0x${hex(h.address_max)}`,
			cell: (h) => (
				<a
					class="mono two"
					href={href(
						{},
						{ region: asText({ low: h.address_min, high: h.address_max + 1 }) },
					)}>
					{hex(h.address_min)}
					<span class="two-below">{hex(h.address_max)}</span>
				</a>
			),
		},
	];
	return (
		<Card
			name="holders"
			title={region ? "Who holds this region" : "Who holds the memory"}
			said={
				data ? (
					<>
						{bytes(data.bytes)} in {plural(data.count, "block")} at{" "}
						{duration(data.at_ns / 1e9)}
						{region && (
							<>
								{" "}
								between <code>0x{hex(region.low)}</code> and{" "}
								<code>0x{hex(region.high)}</code> ({bytes(region.high - region.low)}
								, {percent(data.bytes, region.high - region.low)} in use)
							</>
						)}
					</>
				) : (
					""
				)
			}
			tools={
				region && (
					<>
						<a
							class="button"
							href={href(
								{ view: "maps" },
								{ holds: `0x${hex(region.low)}`, filter: "", from: "", to: "" },
							)}>
							The map there
						</a>
						<button type="button" class="button" onClick={() => go({ region: "" })}>
							All addresses
						</button>
					</>
				)
			}>
			<Answered what="The holders" answer={pages.answer} lines={6}>
				{() =>
					pages.count === 0 ? (
						<Nothing
							title={
								region
									? "Nothing holds this region at that time"
									: "Nothing was alive at that time"
							}>
							Click another place of the map, or move the moment of the timeline.
						</Nothing>
					) : (
						<Table
							label="Holders"
							columns={columns}
							{...pages.rows}
							rowHeight={44}
							height={440}
							nouns={pages.count === 1 ? "stack" : "stacks"}
							onOpen={(h) => {
								location.hash = to(h);
							}}
							onMenu={(h, _, x, y) =>
								openMenu(x, y, "This stack", [
									{ label: "Its blocks here", href: to(h) },
									{
										label: "Only this stack",
										href: adding(stackTerm(h.backtrace_id)),
									},
									{
										label: "Without this stack",
										href: adding(`backtrace != ${h.backtrace_id}`),
									},
									{
										label: "Flame graph",
										href: adding(stackTerm(h.backtrace_id), "flame"),
									},
									{
										label: "Copy the stack",
										run: () => void copy(stackText(h.backtrace), "Stack"),
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

/* How full an area is at a moment. */
function used(
	area: Area,
	space: Space,
	at: number | undefined,
	cells: readonly number[] = area.cells,
): number {
	let column = space.columns - 1;
	if (at !== undefined)
		column = Math.max(
			0,
			Math.min(space.columns - 1, space.xs_ns.findIndex((x) => x >= at) - 1),
		);
	let sum = 0;
	for (let row = 0; row < area.rows; row++)
		sum += ((cells[row * space.columns + column] ?? 0) / 255) * area.cell_bytes;
	return Math.min(sum, area.end - area.start);
}

export function AddressSpace({ id }: ViewProps) {
	const { parameters } = useRoute();
	const asked = useAsked();
	const zoom = parseRegion(parameters["zoom"]),
		region = parseRegion(parameters["region"]);
	const as = parameters["as"] === "table" ? "table" : "picture";
	const resident = parameters["show"] === "resident";
	const answer = useData<Space>(
		dataUrl(id, "/data/{id}/address_space", {
			...asked,
			columns: 300,
			rows: 320,
			resident: resident || undefined,
			...(zoom
				? { address_min: `0x${hex(zoom.low)}`, address_max: `0x${hex(zoom.high - 1)}` }
				: {}),
		}),
	);
	const space = answer.data;
	const at = parameters["at"] ? Number(parameters["at"]) * 1e9 : undefined;
	const areas = useMemo(() => (space ? [...space.areas].reverse() : []), [space]);
	const total = areas.reduce((sum, a) => sum + (a.end - a.start), 0);
	const inUse = space ? areas.reduce((sum, a) => sum + used(a, space, at), 0) : 0;
	const inMemory = space
		? areas.reduce((sum, a) => sum + used(a, space, at, a.resident ?? []), 0)
		: 0;
	const sampled = areas.some((a) => a.resident);
	const columns: Column<Area>[] = [
		{
			key: "start",
			label: "from",
			width: "minmax(140px, 1fr)",
			cell: (a) => (
				<a class="mono" href={href({}, { region: asText({ low: a.start, high: a.end }) })}>
					0x{hex(a.start)}
				</a>
			),
			text: (a) => `0x${hex(a.start)}`,
		},
		{
			key: "end",
			label: "to",
			width: "minmax(140px, 1fr)",
			cell: (a) => <span class="mono">0x{hex(a.end)}</span>,
			text: (a) => `0x${hex(a.end)}`,
		},
		{
			key: "size",
			label: "stretch",
			number: true,
			width: "112px",
			cell: (a) => <Bytes value={a.end - a.start} />,
			text: (a) => String(a.end - a.start),
		},
		{
			key: "used",
			label: "in use",
			title: "By blocks, at the moment or at the end",
			number: true,
			width: "160px",
			cell: (a) => (
				<Share part={used(a, space!, at)} whole={a.end - a.start}>
					<Bytes value={Math.round(used(a, space!, at))} />
				</Share>
			),
			text: (a) => String(Math.round(used(a, space!, at))),
		},
		...(sampled
			? [
					{
						key: "resident",
						label: "resident",
						title: "At the moment or at the end, in blocks or not",
						number: true,
						width: "160px",
						cell: (a: Area) => (
							<Share part={used(a, space!, at, a.resident)} whole={a.end - a.start}>
								<Bytes value={Math.round(used(a, space!, at, a.resident))} />
							</Share>
						),
						text: (a: Area) => String(Math.round(used(a, space!, at, a.resident))),
					},
				]
			: []),
	];
	return (
		<>
			<Card
				name="address_space"
				title="Address space"
				said={
					space
						? `${bytes(total)} of addresses in ` +
							`${plural(areas.length, "area")} · ${percent(inUse, total)} in ` +
							"use " +
							(sampled ? `and ${bytes(inMemory)} resident ` : "") +
							(at === undefined ? "at the end" : `at ${duration(at / 1e9)}`) +
							(zoom ? " · zoomed in" : "")
						: ""
				}
				tools={
					<>
						{zoom && (
							<button type="button" class="button" onClick={() => go({ zoom: "" })}>
								Zoom out
							</button>
						)}
						<Choice
							label="Shown"
							value={resident ? "resident" : "blocks"}
							options={[
								["blocks", "blocks", "How full addresses are of blocks"],
								[
									"resident",
									"resident",
									"What is in memory, in blocks or not, at all addresses",
								],
							]}
							onChange={(value) =>
								go({ show: value === "resident" ? value : "", zoom: "" })
							}
						/>
						<Choice
							label="Address space as"
							value={as}
							options={[
								["picture", "picture"],
								["table", "table"],
							]}
							onChange={(value) => go({ as: value === "table" ? value : "" })}
						/>
					</>
				}>
				<Answered what="The address space" answer={answer} lines={10}>
					{(data) =>
						areas.length === 0 ? (
							<Nothing title="No block was at any of these addresses">
								No block is left to place.
							</Nothing>
						) : as === "table" ? (
							<Table
								label="Areas"
								columns={columns}
								count={areas.length}
								row={(i) => areas[i]}
								rowHeight={44}
								height={400}
								nouns={areas.length === 1 ? "area" : "areas"}
							/>
						) : (
							<div class="areas">
								{resident && !sampled && (
									<p class="dim">
										The recording has no samples of what was resident: these are
										its blocks.
									</p>
								)}
								{areas.map((area) => (
									<div class="area" key={area.start}>
										<div class="area-side mono" aria-hidden="true">
											<span>{hex(area.end)}</span>
											<span class="dim">{bytes(area.end - area.start)}</span>
											<span>{hex(area.start)}</span>
										</div>
										<Picture
											area={area}
											space={data}
											height={Math.max(
												40,
												Math.round(
													320 *
														Math.max(
															area.rows /
																Math.max(
																	1,
																	areas.reduce(
																		(n, a) => n + a.rows,
																		0,
																	),
																),
															0.08,
														),
												),
											)}
											chosen={region}
											at={at}
											onCell={(cell) => {
												const low = area.start + cell.row * area.cell_bytes;
												go({
													region: asText({
														low,
														high: Math.min(
															area.end,
															low + area.cell_bytes,
														),
													}),
													at: nsToSeconds(
														data.xs_ns[cell.column + 1] ?? data.to_ns,
													),
												});
											}}
											onZoom={(from, to) => {
												const low = Math.min(from.row, to.row),
													high = Math.max(from.row, to.row) + 1;
												go({
													zoom: asText({
														low: area.start + low * area.cell_bytes,
														high: Math.min(
															area.end,
															area.start + high * area.cell_bytes,
														),
													}),
												});
											}}
										/>
									</div>
								))}
								<div class="area-times dim" aria-hidden="true">
									<span>{duration(data.from_ns / 1e9)}</span>
									{sampled ? (
										<span class="area-scale">
											<span>not in memory</span>
											<span class="area-ramp" />
											<span>resident, in blocks</span>
											<span class="area-ramp beside" />
											<span>resident beside blocks</span>
										</span>
									) : (
										<span class="area-scale">
											<span>empty</span>
											<span class="area-ramp" />
											<span>full</span>
										</span>
									)}
									<span>{duration(data.to_ns / 1e9)}</span>
								</div>
							</div>
						)
					}
				</Answered>
			</Card>
			{(!space || areas.length > 0) && <HoldersCard id={id} region={region} />}
		</>
	);
}
