// SPDX-License-Identifier: MIT OR Apache-2.0
// Numbers on the page: short with their unit, exact in the tooltip, and a link where they count
// something that can be looked at.  A link leads to exactly what the number counts (tests follow
// them: data-bytes and data-blocks here, and Sum at the place that they lead to), or there is none.
import type { ComponentChildren } from "preact";
import { bytes, count, exact, plural, short } from "./units";

function Linked({
	title,
	to,
	children,
	...data
}: {
	title?: string;
	to: string | undefined;
	children: ComponentChildren;
	"data-bytes"?: number;
	"data-blocks"?: number;
}) {
	return to ? (
		<a class="number" href={to} title={title} {...data}>
			{children}
		</a>
	) : (
		<span class="number" title={title}>
			{children}
		</span>
	);
}

export const Bytes = ({ value, to }: { value: number; to?: string | undefined }) => (
	<Linked title={exact(value)} to={to} data-bytes={value}>
		{bytes(value)}
	</Linked>
);
export const Count = ({ value, to }: { value: number; to?: string | undefined }) => (
	<Linked to={to} data-blocks={value}>
		{count(value)}
	</Linked>
);
export const Short = ({ value, to }: { value: number; to?: string }) => (
	<Linked title={count(value)} to={to}>
		{short(value)}
	</Linked>
);

/* What a view is about, in all. */
export const Sum = ({ bytes: size, blocks }: { bytes: number; blocks: number }) => (
	<span title={exact(size)} data-sum={size} data-sum-blocks={blocks}>
		{bytes(size)} in {plural(blocks, "block")}
	</span>
);
