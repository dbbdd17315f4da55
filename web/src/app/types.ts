// SPDX-License-Identifier: MIT OR Apache-2.0
// Answers of the server that more than one part reads (docs/http-api.md).
import type { FrameKind } from "../parts/frames";
import type { Warning } from "./recordings";

export interface Parameter {
	name: string;
	type: string;
	values?: string[];
	default?: string;
	help: string;
	required: boolean;
}
export interface FilterRow {
	name: string;
	type: string;
	argument: string;
	help: string;
	syntax?: string;
	meaning?: string;
	values?: string[];
	repeatable: boolean;
}
export interface Api {
	version: string;
	endpoints: {
		path: string;
		methods: string[];
		help: string;
		filters: boolean;
		parameters: Parameter[];
	}[];
	filters: FilterRow[];
	fields: { name: string; type: string; help: string; operators: string[] }[];
	exports: {
		name: string;
		extension: string;
		type: string;
		viewer?: string;
		help: string;
		one_measure: boolean;
		groups: boolean;
	}[];
	heap_reports: {
		name: string;
		extension: string;
		type: string;
		help: string;
		regex: boolean;
		whole: boolean;
	}[];
	measures: {
		name: string;
		title: string;
		help: string;
		needs_time: boolean;
		needs_duration: boolean;
	}[];
	/* What allocations are sorted by; `member`: of an allocation, null if it is not there. */
	sorts: { name: string; help: string; type: string; member: string | null }[];
	upload_limit: number;
}

export interface Timeline {
	xs_ns: number[];
	allocated_size: number[];
	allocated_count: number[];
	size_delta: number[];
	count_delta: number[];
	end_size: number[];
	end_count: number[];
	allocations_per_second: number[];
	deallocations_per_second: number[];
	bytes_per_second: number[];
	start_ms: number;
	from_ns: number;
	to_ns: number;
	peak: { bytes: number; count: number; at_ns: number };
}

/* What the process's memory maps used; seen about once a second. */
export interface MapsTimeline {
	xs: number[]; /* milliseconds since 1970 */
	address_space: number[];
	rss: number[];
	anonymous: number[];
	dirty: number[];
	clean: number[];
	swap: number[];
	mapped: number[]; /* by the program itself */
}

export interface Verdict {
	class: "growing" | "unclear" | "bounded" | "sawtooth" | "start-up" | "start_up" | "pool";
	confidence: number;
	evidence: string;
	matters: boolean; /* beside the program's peak: others are only counted */
	stacks: number;
	leaked_bytes: number;
	leaked_count: number;
	kept_bytes: number;
	most_bytes: number;
	bytes_per_second: number;
	fit?: number; /* of the line that this is the slope of: below 0.8 it says nothing */
	backtrace_id: number;
	function?: string;
}
export interface Top {
	function: string;
	kind?: FrameKind; /* nobody's without a stack */
	source?: string;
	line?: number;
	backtrace_id: number;
	stacks: number;
	bytes: number;
	count: number;
}
/* What is to be known first.  parts: the text, with its numbers to be written as the page does. */
export interface Sentence {
	kind: string;
	text: string;
	parts: {
		text: string;
		bytes?: number;
		bytes_per_second?: number;
		count?: number;
		ns?: number;
		function?: boolean;
	}[];
	bytes: number;
	at_ns?: number;
	evidence: {
		question: string;
		parameters: Record<string, string>;
		view: string;
		term: string; /* to be added to what is asked; "": nothing */
	};
}
export interface Overview {
	id: string;
	name: string;
	executable: string;
	cmdline: string[];
	pid: number;
	architecture: string;
	hostname: string | null;
	allocator?: string;
	recorded_by?: string;
	end_reason?: string;
	exit_status?: number;
	exit_signal?: number;
	start_ms: number;
	runtime_ns: number;
	threads: number;
	file_size: number;
	events: number;
	allocations: number;
	deallocations: number;
	reallocations: number;
	allocated_bytes: number;
	temporary: number;
	heaptrack_temporary?: number; /* of a whole recording only */
	peak: { bytes: number; count: number; at_ns: number };
	leaked: { bytes: number; count: number };
	/* Of the whole process; not there: nobody has seen it. */
	memory: { rss?: { bytes: number; at_ns: number }; mapped?: { bytes: number; at_ns: number } };
	sentences?: Sentence[]; /* those on growth come later, as verdicts do */
	growth_judged?: boolean;
	stacks: number;
	deepest_stack: number;
	without_stack: number;
	removed_allocations: number;
	verdicts?: Verdict[]; /* these take longer, and come after the rest: see facts.ts */
	verdict_counts?: Record<string, number>;
	verdict_bytes?: Record<string, number>;
	small?: { functions: number; bytes: number; late_bytes: number; grows: boolean };
	top: Record<"leaked" | "peak" | "allocated" | "temporary", Top[]>;
	modules: { name: string; symbols: string; places: number }[];
	markers: { at_ns: number; value: number; name?: string }[];
	warnings: Warning[];
}

export type Check =
	{ ok: true; count: number; bytes: number } | { ok: false; error: string; position: number };
