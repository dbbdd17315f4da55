// SPDX-License-Identifier: MIT OR Apache-2.0
// The flame graph on its canvas: mouse, keys and the animation between two stretches.  It holds no
// state that a link should carry: which box is zoomed is the caller's, and in the address.
//
// For a screen reader it is one element that arrows move in; each box is read out as it is reached,
// and the view offers the same as a table.
import type { ComponentChild } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useTheme } from "../../app/theme";
import { hideTip, showTip } from "../tooltip";
import { useRest } from "../rest";
import { depthOf, paint, ROW, rowOf, rows, type Scene } from "./paint";
import type { Tree } from "./tree";

export interface FlameProps {
	tree: Tree;
	label: string;
	zoom: number;
	fold: number;
	selected: number;
	hits: Uint8Array | undefined;
	describe: (box: number) => ComponentChild; /* in the tooltip */
	spoken: (box: number) => string;
	onZoom: (box: number) => void;
	onSelect: (box: number) => void;
	onMenu: (box: number, x: number, y: number) => void;
	onKey: (key: string, box: number) => boolean;
}

/* What the tests look at: the boxes as they are on the screen. */
export interface FlameElement extends HTMLCanvasElement {
	boxes?: () => { name: string; x: number; y: number; width: number; depth: number }[];
	drawn?: number;
}

const BELOW = 96; /* pixels: its foot, and to the end of the page */

const reduced = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;

export function Flame(props: FlameProps) {
	const { tree, zoom, fold, selected } = props;
	const outer = useRef<HTMLDivElement>(null),
		canvas = useRef<FlameElement>(null);
	const scene = useRef<Scene>();
	const frame = useRef(0);
	const latest = useRef(props);
	latest.current = props;
	const dark = useTheme() === "dark";
	/* The foot below it stays in sight, too. */
	const { width, height: limit } = useRest(outer, BELOW, 240);
	const size = { width, limit };
	const full = rows({ tree, fold }) * ROW;
	const height = Math.max(ROW * 4, Math.min(full, size.limit));

	const draw = (): void => {
		cancelAnimationFrame(frame.current);
		frame.current = requestAnimationFrame(() => {
			const ctx = canvas.current?.getContext("2d", { alpha: false });
			if (ctx && scene.current) canvas.current!.drawn = paint(ctx, scene.current);
		});
	};

	useLayoutEffect(() => {
		const element = canvas.current!,
			ratio = devicePixelRatio || 1;
		element.width = Math.round(size.width * ratio);
		element.height = Math.round(height * ratio);
		element.style.width = `${size.width}px`;
		element.style.height = `${height}px`;
	}, [size.width, height]);

	/* From the stretch that is seen to that of the zoomed box. */
	const seen = useRef<Tree>();
	useLayoutEffect(() => {
		const from = tree.left[zoom]!,
			to = from + Math.max(tree.width[zoom]!, 1e-9),
			old = scene.current;
		const next: Scene = {
			tree,
			from,
			to,
			fold,
			top: outer.current!.scrollTop,
			width: size.width,
			height,
			selected,
			hovered: -1,
			hits: props.hits,
			dark,
		};
		const moved =
			old && seen.current === tree && (old.from !== from || old.to !== to) && !reduced();
		seen.current = tree;
		scene.current = next;
		if (!moved) return draw();
		const begin = performance.now(),
			a = old.from,
			b = old.to;
		let running = 0;
		const step = (now: number): void => {
			const t = Math.min(1, (now - begin) / 160),
				ease = 1 - (1 - t) ** 3;
			next.from = a + (from - a) * ease;
			next.to = b + (to - b) * ease;
			draw();
			if (t < 1) running = requestAnimationFrame(step);
		};
		running = requestAnimationFrame(step);
		return () => {
			cancelAnimationFrame(running);
			next.from = from;
			next.to = to;
		};
	}, [tree, zoom, fold, size.width, height, dark]);
	useEffect(() => {
		if (!scene.current) return;
		scene.current.selected = selected;
		scene.current.hits = props.hits;
		draw();
	}, [selected, props.hits]);
	useEffect(
		() => () => {
			cancelAnimationFrame(frame.current);
			hideTip();
		},
		[],
	);
	useEffect(() => {
		canvas.current!.boxes = () => {
			const s = scene.current!,
				scale = s.width / (s.to - s.from),
				found = [];
			for (let i = 0; i < s.tree.count; i++) {
				const x = Math.max(0, (s.tree.left[i]! - s.from) * scale),
					right = Math.min(
						s.width,
						(s.tree.left[i]! + s.tree.width[i]! - s.from) * scale,
					);
				if (right - x >= 1 && rowOf(s, s.tree.depth(i)) >= 0)
					found.push({
						name: s.tree.text(i),
						x,
						y: rowOf(s, s.tree.depth(i)) * ROW - s.top,
						width: right - x,
						depth: s.tree.depth(i),
					});
			}
			return found;
		};
	}, []);

	const boxAt = (event: MouseEvent): number => {
		const s = scene.current,
			place = canvas.current!.getBoundingClientRect();
		if (!s) return -1;
		return tree.at(
			depthOf(s, Math.floor((event.clientY - place.top + s.top) / ROW)),
			s.from + ((event.clientX - place.left) / s.width) * (s.to - s.from),
		);
	};
	const move = (event: MouseEvent): void => {
		const box = boxAt(event),
			s = scene.current;
		if (s && s.hovered !== box) {
			s.hovered = box;
			draw();
		}
		if (box < 0) hideTip();
		else showTip(event.clientX, event.clientY, props.describe(box));
		canvas.current!.style.cursor = box >= 0 ? "pointer" : "default";
	};
	const leave = (): void => {
		hideTip();
		if (scene.current) scene.current.hovered = -1;
		draw();
	};
	const reveal = (box: number): void => {
		const element = outer.current!,
			y = rowOf({ fold }, tree.depth(box)) * ROW;
		if (y < element.scrollTop) element.scrollTop = y;
		if (y + ROW > element.scrollTop + height) element.scrollTop = y + ROW - height;
		props.onSelect(box);
	};
	const keys = (event: KeyboardEvent): void => {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const at = selected < 0 ? zoom : selected;
		const next: Record<string, () => number> = {
			ArrowDown: () => (selected < 0 ? zoom : tree.child(at)),
			ArrowUp: () => (at > 0 ? tree.parent(at) : 0),
			ArrowRight: () => tree.sibling(at, 1),
			ArrowLeft: () => tree.sibling(at, -1),
			Home: () => 0,
		};
		const step = next[event.key];
		if (step) {
			let box = step();
			/* Past what is folded. */
			while (box > 0 && rowOf({ fold }, tree.depth(box)) < 0)
				box = event.key === "ArrowUp" ? tree.parent(box) : tree.child(box);
			if (box >= 0) reveal(box);
		} else if (event.key === "Enter" || event.key === " ") props.onZoom(at);
		else if (event.key === "ContextMenu" || (event.shiftKey && event.key === "F10")) {
			const s = scene.current!,
				place = canvas.current!.getBoundingClientRect();
			props.onMenu(
				at,
				place.left +
					Math.max(0, ((tree.left[at]! - s.from) / (s.to - s.from)) * s.width) +
					8,
				place.top + (rowOf(s, tree.depth(at)) + 1) * ROW - s.top,
			);
		} else if (!props.onKey(event.key, at)) return;
		event.preventDefault();
		event.stopPropagation();
	};
	return (
		<div
			class="flame"
			ref={outer}
			style={{ height: `${height}px` }}
			onScroll={() => {
				if (scene.current) scene.current.top = outer.current!.scrollTop;
				draw();
			}}>
			<div class="flame-space" style={{ height: `${full}px` }}>
				<canvas
					ref={canvas}
					class="flame-canvas"
					tabIndex={0}
					role="application"
					aria-roledescription="flame graph"
					aria-label={props.label}
					aria-describedby="flame-spoken"
					onMouseMove={move}
					onMouseLeave={leave}
					onKeyDown={keys}
					onClick={(event) => {
						const box = boxAt(event);
						if (box < 0) return;
						props.onSelect(box);
						props.onZoom(box);
					}}
					onContextMenu={(event) => {
						const box = boxAt(event);
						event.preventDefault();
						hideTip();
						if (box >= 0) {
							props.onSelect(box);
							props.onMenu(box, event.clientX, event.clientY);
						}
					}}
				/>
			</div>
			<span id="flame-spoken" class="hidden" aria-live="polite">
				{selected >= 0 && selected < tree.count ? props.spoken(selected) : ""}
			</span>
		</div>
	);
}
