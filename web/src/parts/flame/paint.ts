// SPDX-License-Identifier: MIT OR Apache-2.0
// Draws the visible part of a flame tree.  Work is bounded by what is on the screen: boxes of a row
// that are narrower than a pixel are passed over by a search, so that a row costs at most as many
// boxes as it has pixels, however many the tree has.
import { token } from "../../app/theme";
import { middle } from "../units";
import type { Tree } from "./tree";

export const ROW = 19;

export interface Scene {
	tree: Tree;
	from: number; /* the stretch that is seen, in the unit of the tree */
	to: number;
	fold: number; /* levels below the root that are not drawn: the same box all over */
	top: number; /* pixels that are scrolled away */
	width: number;
	height: number;
	selected: number;
	hovered: number;
	hits: Uint8Array | undefined;
	dark: boolean;
}

/* Rows of the picture and levels of the tree. */
export const depthOf = (scene: Pick<Scene, "fold">, row: number): number =>
	row ? row + scene.fold : 0;
export const rowOf = (scene: Pick<Scene, "fold">, depth: number): number =>
	!depth ? 0 : depth > scene.fold ? depth - scene.fold : -1;
export const rows = (scene: Pick<Scene, "tree" | "fold">): number =>
	scene.tree.levels.length - Math.min(scene.fold, scene.tree.levels.length - 1);

/* Warm hues by module, lightness by name (and a little of the hue, so that neighbours part). */
const SHADES = 9;
const palettes: Record<string, string[]> = {};
function palette(dark: boolean): string[] {
	return (palettes[String(dark)] ??= Array.from({ length: 24 * SHADES }, (_, i) => {
		const shade = i % SHADES,
			hue =
				6 +
				Math.round(
					(Math.floor(i / SHADES) * 28) / 23 + (((shade * 5) % SHADES) * 16) / SHADES,
				);
		/* Yellow is lighter to the eye than red: less of it under white letters. */
		return dark
			? `hsl(${hue} ${46 + shade}% ${35 - (hue - 8) * 0.2 + shade * 1.6}%)`
			: `hsl(${hue} ${78 + shade}% ${64 + shade * 2.2}%)`;
	}));
}

function changeColour(before: number, after: number, largest: number, dark: boolean): string {
	const change = after - before;
	if (!change || !largest) return dark ? "#3a434c" : "#dde3e8";
	const strength = Math.sqrt(Math.abs(change) / largest);
	const hue = change > 0 ? 6 : 208;
	return dark
		? `hsl(${hue} ${20 + 45 * strength}% ${27 + 14 * strength}%)`
		: `hsl(${hue} ${45 + 40 * strength}% ${90 - 28 * strength}%)`;
}

const widths = new Map<string, number>();

function fit(ctx: CanvasRenderingContext2D, text: string, room: number): string {
	let width = widths.get(text);
	if (width === undefined) {
		if (widths.size > 50000) widths.clear();
		width = ctx.measureText(text).width;
		widths.set(text, width);
	}
	if (width <= room) return text;
	const letters = Math.floor((room / width) * text.length) - 1;
	return letters < 3 ? "" : letters < 12 ? `${text.slice(0, letters)}…` : middle(text, letters);
}

export function paint(ctx: CanvasRenderingContext2D, scene: Scene): number {
	const { tree, from, to, top, width, height, hits, dark } = scene;
	const ratio = devicePixelRatio || 1,
		scale = width / Math.max(to - from, 1e-9);
	const colours = palette(dark),
		grey = dark ? "#3d4650" : "#d5dbe1",
		ink = dark ? "#f4f1ec" : "#1d1508";
	const { name: names, before } = tree.answer.nodes;
	const match = token("match"),
		card = token("card"),
		line = token("text");
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	ctx.fillStyle = card;
	ctx.fillRect(0, 0, width, height);
	ctx.font = "11.5px system-ui, -apple-system, 'Segoe UI', 'Noto Sans', sans-serif";
	ctx.textBaseline = "middle";
	let drawn = 0;
	const firstRow = Math.max(0, Math.floor(top / ROW)),
		lastRow = Math.min(rows(scene) - 1, Math.floor((top + height) / ROW));
	for (let row = firstRow; row <= lastRow; row++) {
		const level = tree.levels[depthOf(scene, row)]!,
			y = row * ROW - top;
		for (let k = tree.first(level, from); k < level.length; k++) {
			const i = level[k]!,
				left = tree.left[i]!;
			if (left >= to) break;
			const x = Math.max(0, (left - from) * scale),
				right = Math.min(width, (left + tree.width[i]! - from) * scale);
			const box = right - x;
			drawn++;
			const hit = hits?.[i] === 1;
			ctx.globalAlpha = hits && !hit ? 0.45 : 1;
			ctx.fillStyle = hit
				? match
				: before
					? changeColour(before[i]!, tree.value(i), tree.largest, dark)
					: row === 0
						? dark
							? "#2a323a"
							: "#e6ebef"
						: tree.colours[names[i]!]! < 0
							? grey
							: colours[tree.colours[names[i]!]!]!;
			if (box < 1.5) {
				/* One line stands for all that fall on this pixel. */
				ctx.fillRect(x, y, 0.8, ROW - 1);
				const next = tree.first(level, from + (x + 1) / scale);
				if (next > k + 1) k = next - 1;
				continue;
			}
			ctx.fillRect(x, y, box - (box > 3 ? 1 : 0.4), ROW - 1);
			if (box > 26) {
				const name = tree.text(i),
					shown = fit(
						ctx,
						i || !scene.fold
							? name
							: `${name}   ⋯ ${scene.fold} frames that all of this begins ` +
									"with are folded",
						box - 10,
					);
				if (shown) {
					ctx.fillStyle = hit ? (dark ? "#2b0a1f" : "#ffffff") : ink;
					ctx.fillText(shown, x + 5, y + ROW / 2);
				}
			}
		}
	}
	ctx.globalAlpha = 1;
	const frame = (i: number, style: string, thick: number): void => {
		if (i < 0 || i >= tree.count || rowOf(scene, tree.depth(i)) < 0) return;
		const x = Math.max(0, (tree.left[i]! - from) * scale),
			right = Math.min(width, (tree.left[i]! + tree.width[i]! - from) * scale);
		if (right <= 0 || x >= width) return;
		ctx.strokeStyle = style;
		ctx.lineWidth = thick;
		ctx.strokeRect(
			x + thick / 2,
			rowOf(scene, tree.depth(i)) * ROW - top + thick / 2,
			Math.max(1, right - x - 1 - thick),
			ROW - 1 - thick,
		);
	};
	frame(scene.hovered, line, 1);
	if (scene.selected > 0) frame(scene.selected, line, 2);
	return drawn;
}
