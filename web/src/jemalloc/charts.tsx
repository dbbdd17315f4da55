// SPDX-License-Identifier: MIT OR Apache-2.0
// Pictures of statistics, drawn as SVG: bars and dots over size classes, one bar that is cut into
// shares, histograms, and lines over snapshots.
//
// They know numbers and labels only.  Every picture has a name for those who do not see it, says
// the exact value under the pointer, and stands beside a table with the same numbers.
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isDecimal } from "../parts/units";

export interface Point {
	label: string; // on the axis
	value: number;
	title: string; // the first line of what the pointer shows
	lines: string[]; // and the others
	kind?: string; // a class of its own, for colour
}

const LEFT = 64,
	RIGHT = 8,
	TOP = 8,
	BOTTOM = 40,
	TITLE = 20;

// The width that there is, and again when it changes.
export function useWidth(): [RefObject<HTMLDivElement>, number] {
	const ref = useRef<HTMLDivElement>(null);
	const [width, setWidth] = useState(0);
	useEffect(() => {
		const element = ref.current!;
		const look = () => setWidth(Math.floor(element.clientWidth));
		const observer = new ResizeObserver(look);
		look();
		observer.observe(element);
		return () => observer.disconnect();
	}, []);
	return [ref, width];
}

// Round numbers from 0 (or 1, where the scale is logarithmic) to at least `most`; powers of two
// where sizes are written in KiB.
export function ticks(most: number, wanted: number, log: boolean, binary = false): number[] {
	if (!(most > 0)) return [0, 1];
	if (log) {
		const found = [1];
		const base = binary ? 2 : 10,
			by = Math.max(1, Math.ceil(Math.log(Math.max(most, 10)) / Math.log(base) / wanted));
		while (found[found.length - 1]! < most) found.push(found[found.length - 1]! * base ** by);
		return found.length < 2 ? [1, base] : found;
	}
	const step = binary ? 2 ** Math.ceil(Math.log2(most / wanted)) : niceStep(most / wanted);
	const found = [];
	for (let i = 0; i * step < most + step * 0.999; i++) found.push(i * step);
	return found;
}

// 1, 2 or 5 times a power of ten, at least `rough`.
export function niceStep(rough: number): number {
	const power = 10 ** Math.floor(Math.log10(rough));
	for (const m of [1, 2, 5]) if (m * power >= rough * 0.999) return m * power;
	return 10 * power;
}

export function Tip({
	x,
	width,
	children,
}: {
	x: number;
	width: number;
	children: ComponentChildren;
}) {
	const side = x > width / 2 ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` };
	return (
		<div class="jem-tip" style={side} aria-hidden="true">
			{children}
		</div>
	);
}

function Axis({
	marks,
	format,
	y,
	width,
	title,
}: {
	marks: number[];
	format: (n: number) => string;
	y: (n: number) => number;
	width: number;
	title: string;
}) {
	return (
		<g class="jem-axis">
			{marks.map((m) => (
				<g key={m}>
					<line x1={LEFT} x2={width - RIGHT} y1={y(m)} y2={y(m)} />
					<text x={LEFT - 6} y={y(m) + 4} text-anchor="end">
						{format(m)}
					</text>
				</g>
			))}
			{title && (
				<text class="jem-axis-title" x={LEFT} y={TOP + 6}>
					{title}
				</text>
			)}
		</g>
	);
}

// Bars or dots, one for each size class.
export function Classes({
	id,
	name,
	points,
	mark,
	xTitle,
	yTitle,
	format,
	most,
	log = false,
	sizes = false,
	height = 240,
}: {
	id: string;
	name: string;
	points: Point[];
	mark: "bar" | "dot";
	xTitle: string;
	yTitle: string;
	format: (n: number) => string;
	most?: number;
	log?: boolean;
	sizes?: boolean;
	height?: number;
}) {
	const [ref, width] = useWidth();
	const [over, setOver] = useState(-1);
	const marks = ticks(
		most ?? Math.max(0, ...points.map((p) => p.value)),
		4,
		log,
		sizes && !isDecimal(),
	);
	const top = marks[marks.length - 1]!,
		base = height - BOTTOM,
		high = base - TOP - TITLE;
	const share = (v: number) => (log ? (v < 1 ? 0 : Math.log10(v) / Math.log10(top)) : v / top);
	const y = (v: number) => base - share(v) * high;
	const band = points.length ? (width - LEFT - RIGHT) / points.length : 0;
	const longest = Math.max(0, ...points.map((p) => p.label.length)),
		every = Math.max(1, Math.ceil((longest * 6.5 + 6) / Math.max(band, 1)));
	const at = (event: MouseEvent) => {
		const box = (event.currentTarget as Element).getBoundingClientRect();
		const i = Math.floor((event.clientX - box.left - LEFT) / band);
		setOver(i >= 0 && i < points.length ? i : -1);
	};
	const point = points[over];
	return (
		<div class="jem-chart" id={id} ref={ref}>
			{points.length === 0 ? (
				<p class="jem-nothing">There is nothing in use that could be drawn here.</p>
			) : (
				width > 0 && (
					<svg
						width={width}
						height={height}
						role="img"
						aria-label={name}
						onMouseMove={at}
						onMouseLeave={() => setOver(-1)}>
						<Axis marks={marks} format={format} y={y} width={width} title={yTitle} />
						{point && (
							<rect
								class="jem-over"
								x={LEFT + over * band}
								y={TOP + TITLE}
								width={band}
								height={high}
							/>
						)}
						{points.map((p, i) => {
							const x = LEFT + i * band;
							return mark === "bar" ? (
								<rect
									key={i}
									class={`jem-mark ${p.kind ?? ""}`}
									x={x + band * 0.12}
									width={Math.max(1, band * 0.76)}
									y={y(p.value)}
									height={Math.max(0.5, base - y(p.value))}
								/>
							) : (
								<circle
									key={i}
									class={`jem-mark ${p.kind ?? ""}`}
									cx={x + band / 2}
									cy={y(p.value)}
									r={4}
								/>
							);
						})}
						<line class="jem-base" x1={LEFT} x2={width - RIGHT} y1={base} y2={base} />
						<g class="jem-axis">
							{points.map((p, i) =>
								i % every ? null : (
									<text
										key={i}
										x={LEFT + (i + 0.5) * band}
										y={base + 14}
										text-anchor="middle">
										{p.label}
									</text>
								),
							)}
							<text
								class="jem-axis-title"
								x={(LEFT + width) / 2}
								y={height - 6}
								text-anchor="middle">
								{xTitle}
							</text>
						</g>
					</svg>
				)
			)}
			{point && (
				<Tip x={LEFT + (over + 0.5) * band} width={width}>
					<b>{point.title}</b>
					{point.lines.map((l) => (
						<div key={l}>{l}</div>
					))}
				</Tip>
			)}
		</div>
	);
}

// One bar, cut by share of the whole; the largest first.
export function Shares({
	id,
	name,
	points,
	title,
}: {
	id: string;
	name: string;
	points: Point[];
	title: string;
}) {
	const [ref, width] = useWidth();
	const [over, setOver] = useState(-1);
	const whole = points.reduce((sum, p) => sum + p.value, 0);
	let x = 0;
	const pieces = points.map((p) => {
		const piece = { x, width: whole ? (p.value / whole) * width : 0 };
		x += piece.width;
		return piece;
	});
	const at = (event: MouseEvent) => {
		const left = event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
		setOver(pieces.findIndex((p) => left >= p.x && left < p.x + p.width));
	};
	const point = points[over];
	return (
		<div class="jem-chart" id={id} ref={ref}>
			{whole === 0 ? (
				<p class="jem-nothing">There is nothing in use that could be drawn here.</p>
			) : (
				width > 0 && (
					<svg
						width={width}
						height={62}
						role="img"
						aria-label={name}
						onMouseMove={at}
						onMouseLeave={() => setOver(-1)}>
						{points.map((p, i) => (
							<g key={i}>
								<rect
									class={
										`jem-piece ${p.kind ?? ""}${i % 2 ? " odd" : ""}` +
										(i === over ? " over" : "")
									}
									x={pieces[i]!.x}
									y={2}
									width={Math.max(
										0,
										pieces[i]!.width - (pieces[i]!.width > 3 ? 1 : 0),
									)}
									height={32}
								/>
								{pieces[i]!.width > 9 * p.label.length + 8 && (
									<text class="jem-piece-text" x={pieces[i]!.x + 6} y={22}>
										{p.label}
									</text>
								)}
							</g>
						))}
						<g class="jem-axis">
							<text class="jem-axis-title" x={0} y={54}>
								{title}
							</text>
						</g>
					</svg>
				)
			)}
			{point && (
				<Tip x={pieces[over]!.x + pieces[over]!.width / 2} width={width}>
					<b>{point.title}</b>
					{point.lines.map((l) => (
						<div key={l}>{l}</div>
					))}
				</Tip>
			)}
		</div>
	);
}

// How many of `values` are in each of at most ten equal ranges.
export function bins(
	values: number[],
	step?: number,
): { from: number; to: number; count: number }[] {
	if (!values.length) return [];
	const most = Math.max(...values),
		least = Math.min(...values);
	const by = step ?? (most > least ? niceStep((most - least) / 10) : Math.max(most, 1) / 10);
	const first = Math.floor(least / by),
		found: { from: number; to: number; count: number }[] = [];
	for (const value of values) {
		const i = Math.min(Math.floor(value / by) - first, 400);
		while (found.length <= i)
			found.push({
				from: (first + found.length) * by,
				to: (first + found.length + 1) * by,
				count: 0,
			});
		found[i]!.count++;
	}
	return found;
}

export function Histogram({
	id,
	name,
	values,
	step,
	sizes = false,
	format,
	short,
	xTitle,
	yTitle,
}: {
	id: string;
	name: string;
	values: number[];
	step?: number;
	sizes?: boolean;
	format: (n: number) => string;
	short: (n: number) => string;
	xTitle: string;
	yTitle: string;
}) {
	const span = values.length ? Math.max(...values) - Math.min(...values) : 0;
	const found = bins(
		values,
		step ??
			(sizes && !isDecimal()
				? 2 ** Math.ceil(Math.log2(Math.max(span, Math.max(1, ...values) / 4) / 10))
				: undefined),
	);
	const points = found.map((b) => ({
		label: `${short(b.from)}–${short(b.to)}`,
		value: b.count,
		title: `${format(b.from)} to ${format(b.to)}`,
		lines: [`${b.count} ${b.count === 1 ? "arena" : "arenas"}`],
	}));
	return (
		<Classes
			id={id}
			name={name}
			points={points}
			mark="bar"
			xTitle={xTitle}
			yTitle={yTitle}
			format={(n) => (Number.isInteger(n) ? String(n) : "")}
		/>
	);
}

export interface Line {
	name: string;
	kind: string;
	values: (number | null)[];
}

// Curves over snapshots.  `x` is where each is on the axis, with rising numbers.
export function Lines({
	id,
	name,
	x,
	lines,
	at,
	against,
	format,
	formatX,
	onChoose,
	height = 150,
}: {
	id: string;
	name: string;
	x: number[];
	lines: Line[];
	at: number;
	against?: number;
	format: (n: number) => string;
	formatX: (n: number) => string;
	onChoose: (i: number) => void;
	height?: number;
}) {
	const [ref, width] = useWidth();
	const [over, setOver] = useState(-1);
	const most = Math.max(0, ...lines.flatMap((l) => l.values.map((v) => v ?? 0)));
	const marks = ticks(most, 3, false, !isDecimal()),
		top = marks[marks.length - 1]!;
	const base = height - 22,
		high = base - TOP - 4,
		first = x[0] ?? 0,
		span = Math.max((x[x.length - 1] ?? 0) - first, 1e-9);
	const px = (i: number) => LEFT + ((x[i]! - first) / span) * (width - LEFT - RIGHT - 8);
	const y = (v: number) => base - (v / top) * high;
	const nearest = (event: MouseEvent) => {
		const left = event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
		let best = 0;
		for (let i = 1; i < x.length; i++)
			if (Math.abs(px(i) - left) < Math.abs(px(best) - left)) best = i;
		return best;
	};
	const path = (values: (number | null)[]) => {
		let text = "",
			pen = false;
		values.forEach((v, i) => {
			if (v !== null) text += `${pen ? "L" : "M"}${px(i).toFixed(1)} ${y(v).toFixed(1)}`;
			pen = v !== null;
		});
		return text;
	};
	const labels = Math.max(2, Math.min(x.length, Math.floor((width - LEFT) / 110)));
	return (
		<div class="jem-chart" id={id} ref={ref}>
			{width > 0 && (
				<svg
					width={width}
					height={height}
					role="img"
					aria-label={name}
					class="jem-lines"
					onMouseMove={(e) => setOver(nearest(e))}
					onMouseLeave={() => setOver(-1)}
					onClick={(e) => onChoose(nearest(e))}>
					<Axis marks={marks} format={format} y={y} width={width} title="" />
					{lines.map((l) => (
						<path key={l.name} class={`jem-line ${l.kind}`} d={path(l.values)} />
					))}
					{x.length <= 60 &&
						lines.map((l) =>
							l.values.map((v, i) =>
								v === null ? null : (
									<circle
										key={`${l.name}${i}`}
										class={`jem-dot ${l.kind}`}
										cx={px(i)}
										cy={y(v)}
										r={2.5}
									/>
								),
							),
						)}
					{against !== undefined && (
						<line
							class="jem-against"
							x1={px(against)}
							x2={px(against)}
							y1={TOP}
							y2={base}
						/>
					)}
					<line class="jem-cursor" x1={px(at)} x2={px(at)} y1={TOP} y2={base} />
					{over >= 0 && over !== at && (
						<line class="jem-hover" x1={px(over)} x2={px(over)} y1={TOP} y2={base} />
					)}
					<g class="jem-axis">
						{Array.from({ length: labels }, (_, i) => {
							const value = first + (span * i) / (labels - 1);
							return (
								<text
									key={i}
									x={LEFT + (i / (labels - 1)) * (width - LEFT - RIGHT - 8)}
									y={height - 6}
									text-anchor={
										i === 0 ? "start" : i === labels - 1 ? "end" : "middle"
									}>
									{formatX(value)}
								</text>
							);
						})}
					</g>
				</svg>
			)}
			{over >= 0 && (
				<Tip x={px(over)} width={width}>
					<b>{formatX(x[over]!)}</b>
					{lines.map((l) => (
						<div key={l.name}>
							<i class={`jem-swatch ${l.kind}`} /> {l.name}{" "}
							{l.values[over] === null ? "not printed" : format(l.values[over]!)}
						</div>
					))}
				</Tip>
			)}
		</div>
	);
}
