// SPDX-License-Identifier: MIT OR Apache-2.0
// Choices that are this reader's and not the address's: kept in the browser, where it lets us.
import { useEffect, useState } from "preact/hooks";

const listeners = new Set<() => void>();
const values = new Map<string, string>();

export function kept(key: string): string {
	try {
		return localStorage.getItem(`memoir-${key}`) ?? "";
	} catch {
		return values.get(key) ?? ""; /* storage may be switched off: then for this time only */
	}
}

export function keep(key: string, value: string): void {
	values.set(key, value);
	try {
		localStorage.setItem(`memoir-${key}`, value);
	} catch {
		/* see above */
	}
	for (const listener of [...listeners]) listener();
}

export function useKept(key: string): string {
	const [seen, set] = useState(() => kept(key));
	useEffect(() => {
		const listener = (): void => set(kept(key));
		listeners.add(listener);
		listener();
		return () => {
			listeners.delete(listener);
		};
	}, [key]);
	return seen;
}

/* The timeline is open, or only its heading is there. */
export const toggleTimeline = (): void => keep("timeline", kept("timeline") ? "" : "folded");
export const useTimelineFolded = (): boolean => useKept("timeline") === "folded";
