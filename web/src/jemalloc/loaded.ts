// SPDX-License-Identifier: MIT OR Apache-2.0
// Something that is still on its way.  What was there before stays until the new is there, so that
// a slider can be moved without a flicker.
import { useEffect, useState } from "preact/hooks";

export interface Loaded<T> {
	readonly data: T | undefined;
	readonly error: Error | undefined;
	readonly fresh: boolean; // data is what was asked for last
	retry(): void;
}

// `key` says what is asked for; null asks nothing.
export function useLoaded<T>(key: string | null, load: () => Promise<T>): Loaded<T> {
	const [turn, setTurn] = useState(0);
	const [state, setState] = useState<{ key: string | null; data?: T; error?: Error }>({
		key: null,
	});
	useEffect(() => {
		if (key === null) return;
		let over = false;
		load().then(
			(data) => over || setState({ key, data }),
			(error: unknown) =>
				over ||
				setState((old) => ({
					...old,
					key,
					error: error instanceof Error ? error : new Error(String(error)),
				})),
		);
		return () => {
			over = true;
		};
	}, [key, turn]);
	return {
		data: key === null ? undefined : state.data,
		error: state.key === key ? state.error : undefined,
		fresh: state.key === key,
		retry: () => setTurn((n) => n + 1),
	};
}
