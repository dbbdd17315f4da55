// SPDX-License-Identifier: MIT OR Apache-2.0
// One graph over time: uPlot with the page's colours, the brush and the moment drawn into it.  A
// drag chooses a range (edges of the brush can be taken, its middle moves it), a click a moment, a
// right click a menu.  Graphs of the same group share their hover line.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { token, useTheme } from "../app/theme";
import { hideTip, showTip } from "./tooltip";
import { date, duration, isDecimal } from "./units";

export interface Line {
	label: string;
	values: readonly (number | null)[];
	tone: "curve" | "second" | "third" | "quiet" | "dim" | "match";
	fill?: boolean;
	colour?: string; /* of the tokens, instead of its tone's */
	said?: readonly number[]; /* what it says, where it is drawn on top of others */
}
export interface PlotProps {
	label: string;
	xs: readonly number[]; /* seconds since the start */
	base?: number; /* the start, seconds since 1970: moments are dates and times of day */
	lines: readonly Line[];
	from: number;
	to: number;
	height: number;
	format: (value: number) => string;
	binary?: boolean; /* steps of the axis in powers of two */
	brush?: readonly [number, number] | undefined;
	moment?: number | undefined;
	markers?: readonly { at: number; name: string }[] | undefined;
	group?: string;
	axes?: boolean;
	stacked?: boolean; /* the space between a line and the next one is the former's */
	legend?: boolean; /* false: what stands around it says what the lines are */
	onBrush?:
		((from: number, to: number, first: boolean) => void) | undefined; /* while it is dragged */
	onZoom?: (from: number, to: number) => void; /* once, when a drag is over */
	onMoment?: (at: number) => void;
	onMenu?: (x: number, y: number, at: number) => void;
}

const STEPS = [
	1e-9, 2e-9, 5e-9, 1e-8, 2e-8, 5e-8, 1e-7, 2e-7, 5e-7, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4,
	2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120,
	300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800,
];
const LEFT = 72,
	RIGHT = 24; /* of the picture, for labels */
const LETTER = 6.4; /* as wide as letters of the axes are, at most */

/* Labels stand below their ticks, half of them on either side; one that the edge would cut is left
 * out. */
function ticks(
	u: uPlot,
	splits: number[],
	step: number,
	{ from, to, axes, base }: PlotProps,
): (string | null)[] {
	const width = u.width - RIGHT - (axes === false ? 8 : LEFT);
	return splits.map((s) => {
		const text = base === undefined ? tick(s, step) : clock(base + s, step),
			room = width * (1 - (s - from) / Math.max(to - from, 1e-9)) + RIGHT;
		return (text.length * LETTER) / 2 <= room ? text : null;
	});
}

/* A time of day; a date where days are what differs. */
function clock(seconds: number, step: number): string {
	const then = new Date(seconds * 1000);
	if (step >= 86400) return then.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
	return then.toLocaleTimeString("en-GB", {
		hour: "2-digit",
		minute: "2-digit",
		...(step < 60 ? { second: "2-digit" as const } : {}),
	});
}

const POWERS = Array.from({ length: 60 }, (_, i) => 2 ** i);

/* A moment on the axis, no finer than the distance of its ticks. */
function tick(seconds: number, step: number): string {
	if (seconds === 0) return "0";
	if (step >= 60 || seconds >= 60)
		return duration(seconds).replace(" 00s", "").replace(" 00m", "");
	for (const [unit, name] of [
		[1, "s"],
		[1e-3, "ms"],
		[1e-6, "µs"],
		[1e-9, "ns"],
	] as const) {
		if (step >= unit * 0.999 || unit === 1e-9 || (unit === 1 && step >= 0.05 && seconds >= 1)) {
			const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-6));
			return `${+(seconds / unit).toFixed(digits)} ${name}`;
		}
	}
	return duration(seconds);
}

const tone = (line: Line): string =>
	token(line.colour ?? (line.tone === "quiet" ? "line-strong" : line.tone));

export function Plot(props: PlotProps) {
	const box = useRef<HTMLDivElement>(null);
	const plot = useRef<uPlot>();
	const latest = useRef(props);
	latest.current = props;
	const theme = useTheme();
	const shape =
		`${theme}|${isDecimal()}|${props.height}|${props.axes}|${props.group}|` +
		`${props.lines.map((l) => `${l.label}${l.tone}${l.fill}${l.colour}`).join()}`;

	useLayoutEffect(() => {
		const element = box.current!;
		const font = "11px system-ui, sans-serif";
		const axis = {
			stroke: token("dim"),
			font,
			grid: { stroke: token("line"), width: 1 },
			ticks: { show: false },
		};
		const shown = props.axes !== false;
		const made = new uPlot(
			{
				width: Math.max(100, element.clientWidth),
				height: props.height,
				padding: [6, RIGHT, 0, shown ? 0 : 8],
				legend: { show: false },
				cursor: {
					y: false,
					drag: { x: false, y: false },
					points: { size: 6, width: 1.5 },
					...(props.group ? { sync: { key: props.group } } : {}),
				},
				scales: {
					x: {
						time: false,
						range: () => [
							latest.current.from,
							Math.max(latest.current.to, latest.current.from + 1e-9),
						],
					},
					y: {
						range: (_u, low, high) => [
							Math.min(0, low ?? 0),
							(high ?? 0) > 0 ? high * 1.06 : (low ?? 0) < 0 ? 0 : 1,
						],
					},
				},
				axes: [
					{
						...axis,
						grid: { show: false },
						size: 23,
						gap: 6,
						space: 90,
						incrs: STEPS,
						values: (u, splits, _i, _s, step) => ticks(u, splits, step, latest.current),
					},
					{
						...axis,
						show: shown,
						size: LEFT,
						gap: 6,
						space: props.height > 200 ? 36 : 20,
						values: (_u, splits) => splits.map((v) => latest.current.format(v)),
						...(props.binary && !isDecimal() ? { incrs: POWERS } : {}),
					},
				],
				series: [
					{},
					...props.lines.map((line) => ({
						label: line.label,
						stroke: tone(line),
						width: props.stacked ? 0.5 : line.tone === "quiet" ? 1 : 1.5,
						points: { show: false },
						...(props.stacked
							? { fill: tone(line) }
							: line.fill
								? { fill: token("curve-fill") }
								: {}),
					})),
				],
				...(props.stacked
					? {
							bands: props.lines
								.slice(1)
								.map((_, i) => ({ series: [i + 1, i + 2] as [number, number] })),
						}
					: {}),
				hooks: {
					draw: [(u) => drawOver(u, latest.current)],
					setCursor: [(u) => hover(u, latest.current)],
				},
			},
			[[0], ...props.lines.map(() => [0])] as unknown as uPlot.AlignedData,
			element,
		);
		plot.current = made;
		const undo = listen(made, latest);
		const watch = new ResizeObserver(() => {
			const width = element.clientWidth;
			if (width && width !== made.width)
				made.setSize({ width, height: latest.current.height });
		});
		watch.observe(element);
		return () => {
			watch.disconnect();
			undo();
			hideTip();
			made.destroy();
		};
	}, [shape]);

	useLayoutEffect(() => {
		plot.current?.setData([
			props.xs,
			...props.lines.map((l) => l.values),
		] as unknown as uPlot.AlignedData);
	}, [shape, props.xs, ...props.lines.map((l) => l.values), props.from, props.to]);
	useEffect(
		() => plot.current?.redraw(false, false),
		[props.brush?.[0], props.brush?.[1], props.moment, props.markers],
	);

	return (
		<div class="plot">
			{props.legend !== false && <Legend {...props} />}
			<div ref={box} />
		</div>
	);
}

const COLOURS: Record<Line["tone"], string> = {
	curve: "var(--curve)",
	second: "var(--second)",
	third: "var(--third)",
	quiet: "var(--line-strong)",
	dim: "var(--dim)",
	match: "var(--match)",
};

function Legend({ lines, brush, moment, markers }: PlotProps) {
	return (
		<div class="legend">
			{lines.map((line) => (
				<span key={line.label}>
					<i
						class="legend-line"
						style={{
							borderColor: line.colour ? `var(--${line.colour})` : COLOURS[line.tone],
						}}
					/>
					{line.label}
				</span>
			))}
			{brush && (
				<span>
					<i
						class="legend-line area"
						style={{ borderColor: "var(--accent)", background: "var(--brush)" }}
					/>
					the range
				</span>
			)}
			{moment !== undefined && (
				<span>
					<i class="legend-line dashed" style={{ borderColor: "var(--moment)" }} />
					the moment
				</span>
			)}
			{!!markers?.length && (
				<span>
					<i class="legend-line" style={{ borderColor: "var(--line-strong)" }} />
					markers
				</span>
			)}
		</div>
	);
}

function drawOver(u: uPlot, { brush, moment, markers }: PlotProps): void {
	const { ctx } = u,
		{ left, top, width, height } = u.bbox,
		ratio = devicePixelRatio;
	const x = (at: number): number => Math.round(u.valToPos(at, "x", true));
	ctx.save();
	ctx.beginPath();
	ctx.rect(left, top, width, height);
	ctx.clip();
	if (brush) {
		const a = x(brush[0]),
			b = Math.max(a + ratio, x(brush[1]));
		ctx.fillStyle = token("brush");
		ctx.fillRect(a, top, b - a, height);
		ctx.fillStyle = token("accent");
		ctx.fillRect(a, top, ratio, height);
		ctx.fillRect(b - ratio, top, ratio, height);
	}
	for (const marker of markers ?? []) {
		ctx.fillStyle = token("line-strong");
		ctx.fillRect(x(marker.at), top, ratio, height);
	}
	if (moment !== undefined) {
		ctx.strokeStyle = token("moment");
		ctx.lineWidth = 1.5 * ratio;
		ctx.setLineDash([4 * ratio, 3 * ratio]);
		ctx.beginPath();
		ctx.moveTo(x(moment), top);
		ctx.lineTo(x(moment), top + height);
		ctx.stroke();
	}
	ctx.restore();
}

let over:
	uPlot | undefined; /* the graph that the mouse is in: graphs of its group have a cursor too */

function hover(u: uPlot, props: PlotProps): void {
	if (over !== u) return;
	const index = u.cursor.idx,
		left = u.cursor.left ?? -1;
	if (index === null || index === undefined || left < 0) return hideTip();
	const place = u.over.getBoundingClientRect();
	const near = props.markers?.find((m) => Math.abs(u.valToPos(m.at, "x") - left) < 4);
	showTip(
		place.left + left,
		place.top + (u.cursor.top ?? 0),
		<>
			<div class="dim">
				{props.base === undefined
					? duration(props.xs[index] ?? 0)
					: date(props.base + (props.xs[index] ?? 0))}
				{near ? ` · ${near.name}` : ""}
			</div>
			{props.lines.map((line) => (
				<div key={line.label} class="tip-row">
					<span>{line.label}</span>
					<b>
						{line.values[index] == null
							? "–"
							: props.format(line.said?.[index] ?? line.values[index])}
					</b>
				</div>
			))}
		</>,
	);
}

/* The mouse on one graph. */
function listen(u: uPlot, latest: { current: PlotProps }): () => void {
	const area = u.over;
	const at = (event: PointerEvent | MouseEvent): number => {
		const { from, to } = latest.current,
			place = area.getBoundingClientRect();
		return Math.max(
			from,
			Math.min(to, from + ((event.clientX - place.left) / place.width) * (to - from)),
		);
	};
	const grip = (event: PointerEvent): "new" | "left" | "right" | "move" => {
		const { brush } = latest.current;
		if (!brush) return "new";
		const x = event.clientX - area.getBoundingClientRect().left,
			a = u.valToPos(brush[0], "x"),
			b = u.valToPos(brush[1], "x");
		if (Math.abs(x - a) < 6) return "left";
		if (Math.abs(x - b) < 6) return "right";
		return x > a && x < b ? "move" : "new";
	};
	let drag:
		| {
				kind: ReturnType<typeof grip>;
				x: number;
				start: number;
				brush: readonly [number, number];
				moved: boolean;
		  }
		| undefined;
	let frame = 0;
	const down = (event: PointerEvent): void => {
		if (event.button !== 0 || event.ctrlKey) return;
		const start = at(event);
		drag = {
			kind: latest.current.onBrush ? grip(event) : "new",
			x: event.clientX,
			start,
			brush: latest.current.brush ?? [start, start],
			moved: false,
		};
		area.setPointerCapture(event.pointerId);
	};
	const move = (event: PointerEvent): void => {
		if (!drag) {
			const kind = latest.current.brush && latest.current.onBrush ? grip(event) : "new";
			area.style.cursor =
				kind === "left" || kind === "right"
					? "ew-resize"
					: kind === "move"
						? "grab"
						: "crosshair";
			return;
		}
		if (!drag.moved && Math.abs(event.clientX - drag.x) < 4) return;
		const first = !drag.moved;
		drag.moved = true;
		const now = at(event),
			{ from, to } = latest.current;
		let [a, b] = drag.brush;
		if (drag.kind === "new") [a, b] = [drag.start, now];
		else if (drag.kind === "left") a = now;
		else if (drag.kind === "right") b = now;
		else {
			const by = Math.max(from - a, Math.min(to - b, now - drag.start));
			a += by;
			b += by;
		}
		if (latest.current.onZoom) {
			const place = area.getBoundingClientRect(),
				left = Math.max(0, Math.min(drag.x, event.clientX) - place.left);
			u.setSelect(
				{
					left,
					width:
						Math.min(place.width, Math.max(drag.x, event.clientX) - place.left) - left,
					top: 0,
					height: place.height,
				},
				false,
			);
			return;
		}
		const tell = (): void => latest.current.onBrush?.(Math.min(a, b), Math.max(a, b), first);
		if (first) return tell();
		cancelAnimationFrame(frame);
		frame = requestAnimationFrame(tell);
	};
	const up = (event: PointerEvent): void => {
		if (drag && !drag.moved) latest.current.onMoment?.(at(event));
		else if (drag && latest.current.onZoom) {
			u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
			latest.current.onZoom(Math.min(drag.start, at(event)), Math.max(drag.start, at(event)));
		}
		drag = undefined;
	};
	const menu = (event: MouseEvent): void => {
		if (!latest.current.onMenu) return;
		event.preventDefault();
		hideTip();
		latest.current.onMenu(event.clientX, event.clientY, at(event));
	};
	const enter = (): void => {
		over = u;
	};
	const leave = (): void => {
		if (over === u) over = undefined;
		hideTip();
	};
	area.addEventListener("pointerdown", down);
	area.addEventListener("pointermove", move);
	area.addEventListener("pointerup", up);
	area.addEventListener("pointerenter", enter);
	area.addEventListener("pointerleave", leave);
	area.addEventListener("contextmenu", menu);
	return () => cancelAnimationFrame(frame); /* the rest goes with the element */
}
