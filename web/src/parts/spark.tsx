// SPDX-License-Identifier: MIT OR Apache-2.0
// Small pictures inside tables: a curve, and a share as a bar below its number.
import type { ComponentChildren } from "preact";
import { percent } from "./units";
import "../style/spark.css";

/* A curve from left to right, scaled to its own highest value. */
export function Spark({
	values,
	label,
}: {
	values: readonly number[] | undefined;
	label?: string;
}) {
	if (!values || values.length < 2) return null;
	const most = Math.max(...values, 1);
	const x = (i: number): string => ((i / (values.length - 1)) * 96).toFixed(1);
	const y = (v: number): string => (25 - (v / most) * 23).toFixed(1);
	const line = values.map((v, i) => `${i ? "L" : "M"}${x(i)} ${y(v)}`).join("");
	return (
		<svg
			class="spark"
			viewBox="0 0 96 26"
			preserveAspectRatio="none"
			role="img"
			aria-label={label ?? "bytes alive over the run"}>
			<path class="spark-fill" d={`${line}L96 26L0 26Z`} />
			<path class="spark-line" d={line} />
		</svg>
	);
}

/* A number with its share of the whole as a bar below. */
export function Share({
	part,
	whole,
	children,
}: {
	part: number;
	whole: number;
	children: ComponentChildren;
}) {
	const width = whole > 0 ? Math.max(0, Math.min(100, (100 * part) / whole)) : 0;
	return (
		<span class="share">
			{children}
			<span class="share-line">
				<span class="share-bar">
					<span style={{ width: `${width}%` }} />
				</span>
				<span class="share-text">{percent(part, whole)}</span>
			</span>
		</span>
	);
}

/* Two lines in a cell: the number, and what goes with it. */
export function Two({
	children,
	below,
}: {
	children: ComponentChildren;
	below: ComponentChildren;
}) {
	return (
		<span class="two">
			{children}
			<span class="two-below">{below}</span>
		</span>
	);
}
