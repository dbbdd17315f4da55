// SPDX-License-Identifier: MIT OR Apache-2.0
// A card: its heading says the number that people came for, in words; switches stand at its right.
import type { ComponentChildren } from "preact";

export function Card({
	title,
	said,
	tools,
	children,
	name,
}: {
	title: string;
	said?: ComponentChildren;
	tools?: ComponentChildren;
	children?: ComponentChildren;
	name?: string;
}) {
	return (
		<section class="card" aria-label={title} {...(name ? { "data-card": name } : {})}>
			<header class="card-head">
				<h2>{title}</h2>
				<div class="said">{said}</div>
				{tools && <div class="tools">{tools}</div>}
			</header>
			{children}
		</section>
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
