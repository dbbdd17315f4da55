// SPDX-License-Identifier: MIT OR Apache-2.0
// Light or dark: the system's wish unless the reader chose; the choice is this reader's, so it is
// kept in the browser and not in the address.
import { useEffect, useState } from "preact/hooks";

export type Theme = "light" | "dark";
const KEY = "memoir-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

function chosen(): Theme | undefined {
	try {
		const value = localStorage.getItem(KEY);
		return value === "light" || value === "dark" ? value : undefined;
	} catch {
		return undefined; /* storage may be switched off */
	}
}

export const theme = (): Theme => chosen() ?? (system.matches ? "dark" : "light");

function apply(): void {
	document.documentElement.dataset["theme"] = theme();
	for (const listener of [...listeners]) listener();
}

export function startTheme(): void {
	system.addEventListener("change", apply);
	apply();
}

export function toggleTheme(): void {
	const next: Theme = theme() === "dark" ? "light" : "dark";
	try {
		localStorage.setItem(KEY, next);
	} catch {
		/* then for this time only */
	}
	document.documentElement.dataset["theme"] = next;
	for (const listener of [...listeners]) listener();
}

/* Pictures on a canvas are drawn again when it changes. */
export function useTheme(): Theme {
	const read = (): Theme =>
		document.documentElement.dataset["theme"] === "dark" ? "dark" : "light";
	const [seen, set] = useState(read);
	useEffect(() => {
		const listener = (): void => set(read());
		listeners.add(listener);
		return () => {
			listeners.delete(listener);
		};
	}, []);
	return seen;
}

/* A colour of the tokens, for canvases. */
export const token = (name: string): string =>
	getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
