// SPDX-License-Identifier: MIT OR Apache-2.0
// What /folders/{id}/processes answers, and its rows in the order that is asked for.
export interface Process {
	file: string;
	id: string;
	parent_id: string | null;
	depth: number;
	origin: string;
	became: boolean;
	pid: number;
	command: string;
	title: string;
	exit_status: number | null;
	exit_signal: number | null;
	running: boolean;
	start: number;
	runtime_ns: number;
	allocations: number;
	peak_bytes: number;
	leaked_bytes: number;
	peak_rss: number | null;
	truncated: boolean;
}

export interface ProcessesAnswer {
	total: {
		recordings: number;
		processes: number;
		running: number;
		peak_bytes: number;
		together_bytes: number;
		leaked_bytes: number;
		start: number;
		runtime_ns: number;
	};
	recordings: Process[];
	held?: {
		bytes: number;
		count: number;
		holders: {
			function: string;
			module: string;
			bytes: number;
			count: number;
			processes: number;
			most_in: string;
		}[];
	};
}

/* The tree as it came; where something is searched or sorted by, a flat list. */
export function arranged(rows: readonly Process[], sort: string, search: string): Process[] {
	const words = search.toLowerCase().split(/\s+/).filter(Boolean);
	const found = rows.filter((p) =>
		words.every((w) => `${p.title} ${p.command} ${p.pid}`.toLowerCase().includes(w)),
	);
	const key = sort.replace(/^-/, "") as keyof Process,
		sign = sort.startsWith("-") ? -1 : 1;
	if (!sort) return found;
	return found.sort((a, b) => {
		const x = a[key] ?? -1,
			y = b[key] ?? -1;
		return x < y ? -sign : x > y ? sign : 0;
	});
}
