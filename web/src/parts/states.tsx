// SPDX-License-Identifier: MIT OR Apache-2.0
// The four states that every view has: loading, empty, partial, error.
import type { ComponentChildren } from "preact";
import type { Answer } from "../app/api";
import { Working } from "./working";

export function Skeleton({ lines = 6 }: { lines?: number }) {
	return (
		<div class="skeleton" role="status" aria-label="Loading">
			{Array.from({ length: lines }, (_, i) => (
				<div key={i} class={`bone bone-${i % 4}`} />
			))}
		</div>
	);
}

/* Says why there is nothing, and what to try. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
	return (
		<div class="empty" role="status">
			<p class="empty-title">{title}</p>
			{children && <div class="empty-why">{children}</div>}
		</div>
	);
}

export function Failure({ what, error, retry }: { what: string; error: Error; retry: () => void }) {
	return (
		<div class="failure" role="alert">
			<p>
				<strong>{what} could not be had:</strong> {error.message}
			</p>
			<button type="button" class="button" onClick={retry}>
				Try again
			</button>
		</div>
	);
}

/* A banner: what is missing from what is shown, and the fix. */
export function Banner({ children }: { children: ComponentChildren }) {
	return (
		<div class="banner" role="note">
			{children}
		</div>
	);
}

/* The usual frame: error, skeleton, or the view with its last answer dimmed while a new one comes;
 * with how far that is, if it takes long. */
export function Answered<T>({
	what,
	answer,
	lines,
	children,
}: {
	what: string;
	answer: Answer<T>;
	lines?: number;
	children: (data: T) => ComponentChildren;
}) {
	const { data, error, busy, fresh, retry, wait } = answer;
	if (error && !(fresh && data !== undefined))
		return <Failure what={what} error={error} retry={retry} />;
	const working = wait && !fresh && <Working wait={wait} />;
	if (data === undefined)
		return (
			<>
				{working}
				<Skeleton {...(lines ? { lines } : {})} />
			</>
		);
	return (
		<>
			{working}
			<div
				class={busy && !fresh ? "answered stale" : "answered"}
				aria-busy={busy}
				data-fresh={String(fresh)}>
				{children(data)}
			</div>
		</>
	);
}
