// SPDX-License-Identifier: MIT OR Apache-2.0
// A card: its heading says the number that people came for, in words.  Switches stand beside the
// title, above that sentence, so that they stay where they are however long it becomes.
import type { ComponentChildren } from "preact";
import { go } from "../app/url";

export function Card({
	title,
	said,
	tools,
	children,
	name,
	line,
	fill,
	bare,
}: {
	title: string;
	said?: ComponentChildren;
	tools?: ComponentChildren;
	children?: ComponentChildren;
	name?: string;
	fill?: boolean; /* the window; app/keys.tsx knows how to leave */
	bare?: boolean; /* its title is only spoken: it is that of the view */
	line?: boolean; /* what is said is short: all of it in one line, where there is room */
}) {
	return (
		<section
			class={fill ? "card filling" : "card"}
			aria-label={title}
			{...(name ? { "data-card": name } : {})}>
			<header class={line ? "card-head line" : "card-head"}>
				<h2 class={bare ? "hidden" : undefined}>{title}</h2>
				<div class="said">{said}</div>
				{tools && <div class="tools">{tools}</div>}
			</header>
			{children}
		</section>
	);
}

/* Whether the address says that a picture fills the window, and the button for it. */
export function FillButton({ on }: { on: boolean }) {
	return (
		<button
			type="button"
			class="button"
			aria-pressed={on}
			title={on ? "Leave the whole window (f, Esc)" : "Fill the whole window (f)"}
			onClick={() => go({ fill: on ? "" : "1" })}>
			{on ? "Leave" : "Fill"}
		</button>
	);
}

/* One of several, as joined buttons. */
export function Choice<T extends string>({
	label,
	value,
	options,
	onChange,
}: {
	label: string;
	value: T;
	options: readonly (readonly [T, string, string?])[];
	onChange: (value: T) => void;
}) {
	return (
		<div class="choice" role="group" aria-label={label}>
			{options.map(([key, text, title]) => (
				<button
					type="button"
					key={key}
					aria-pressed={key === value}
					title={title}
					onClick={() => onChange(key)}>
					{text}
				</button>
			))}
		</div>
	);
}
