// SPDX-License-Identifier: MIT OR Apache-2.0
// Made from the rows that /api lists: tests/policy/page_types.py . build --write
// The paths of the server with the parameters that each takes, and the numbers that allocations and
// groups have.  url() and useData() take nothing else.
import type { Timeval } from "./recordings";

export interface Filters {
	filter?: string;
	hide?: string;
	own?: string;
	from?: string;
	to?: string;
	lifetime?:
		| "all"
		| "only_leaked"
		| "only_not_leaked"
		| "only_temporary"
		| "only_chain_leaked"
		| "only_not_chain_leaked"
		| "only_whole_group_leaked";
	lifetime_min?: string;
	lifetime_max?: string;
	temporary?: "yes" | "no";
	alive_at?: string;
	alive_at_2?: string;
	deallocated_after?: string;
	deallocated_until?: string;
	deallocated_before?: string;
	leaked_or_deallocated_after?: string;
	size_min?: number | string;
	size_max?: number | string;
	size_larger?: number | string;
	size_smaller?: number | string;
	usable_size_min?: number | string;
	usable_size_max?: number | string;
	address_min?: number | string;
	address_max?: number | string;
	first_size_min?: number | string;
	first_size_max?: number | string;
	first_size_larger?: number | string;
	first_size_smaller?: number | string;
	last_size_min?: number | string;
	last_size_max?: number | string;
	last_size_larger?: number | string;
	last_size_smaller?: number | string;
	chain_length_min?: number;
	chain_length_max?: number;
	chain_lifetime_min?: string;
	chain_lifetime_max?: string;
	position_in_chain_min?: number;
	position_in_chain_max?: number;
	backtraces?: string;
	not_backtraces?: string;
	deallocation_backtraces?: string;
	not_deallocation_backtraces?: string;
	backtrace_depth_min?: number;
	backtrace_depth_max?: number;
	function_regex?: string;
	source_regex?: string;
	module_regex?: string;
	negative_function_regex?: string;
	negative_source_regex?: string;
	negative_module_regex?: string;
	thread?: number | string;
	deallocation_thread?: number | string;
	call?: string;
	deallocation_call?: string;
	marker?: number | string;
	from_map?: string;
	zeroed?: "yes" | "no";
	mmaped?: "yes" | "no";
	arena?: "main" | "non_main";
	jemalloc?: "yes" | "no";
	group_allocations_min?: number;
	group_allocations_max?: number;
	group_leaked_allocations_min?: number | string;
	group_leaked_allocations_max?: number | string;
	group_interval_min?: string;
	group_interval_max?: string;
	group_max_total_usage_first_seen_min?: string;
	group_max_total_usage_first_seen_max?: string;
}

export interface AddressSpaceQuery extends Filters {
	columns?: number;
	rows?: number;
	resident?: boolean;
}

export interface AllocationsQuery extends Filters {
	skip?: number;
	count?: number;
	sort_by?:
		| "timestamp"
		| "deallocated"
		| "lifetime"
		| "size"
		| "usable_size"
		| "slack"
		| "address"
		| "first_size"
		| "last_size"
		| "chain_length"
		| "chain_lifetime"
		| "position_in_chain"
		| "marker"
		| "thread";
	order?: "asc" | "dsc" | "desc";
	stacks?: boolean;
	strip_template_args?: boolean;
}

export interface BlameQuery extends Filters {
	at?: string;
	by?: "page" | "64k" | "2m" | "slab";
	group?: "responsible" | "stack";
	skip?: number;
	count?: number;
	sort_by?: "alone" | "shared" | "kept" | "bytes" | "count";
	order?: "asc" | "dsc" | "desc";
}

export interface CallersQuery extends Filters {
	function: string;
	measure?:
		| "leaked"
		| "peak"
		| "allocated"
		| "temporary"
		| "alive"
		| "alive_at"
		| "short_lived"
		| "pinned";
	at?: string;
	below?: string;
	weight?: "bytes" | "count";
	count?: number;
}

export interface CompleteQuery {
	text?: string;
	at?: number | string;
	count?: number;
}

export interface DiffQuery extends Filters {
	a?: string;
	b: string;
	measure?:
		| "leaked"
		| "peak"
		| "allocated"
		| "temporary"
		| "alive"
		| "alive_at"
		| "short_lived"
		| "pinned";
	at?: string;
	below?: string;
	at_a?: string;
	at_b?: string;
	weight?: "bytes" | "count";
	by?: "stack" | "function" | "both";
	skip?: number;
	count?: number;
}

export interface DumpFlameQuery {
	measure?: "inuse_space" | "inuse_objects" | "alloc_space" | "alloc_objects";
	by?: "function" | "line" | "file" | "address";
	thread?: number | string;
	focus?: string;
	ignore?: string;
	retain?: string;
	exclude?: string;
	allocator?: boolean;
	base?: string;
	direction?: "down" | "up";
	threads?: boolean;
	limit?: number;
}

export interface DumpTopQuery {
	measure?: "inuse_space" | "inuse_objects" | "alloc_space" | "alloc_objects";
	by?: "function" | "line" | "file" | "address";
	thread?: number | string;
	focus?: string;
	ignore?: string;
	retain?: string;
	exclude?: string;
	allocator?: boolean;
	base?: string;
	sort_by?: "flat" | "cum" | "name" | "flat_before" | "cum_before" | "flat_change" | "cum_change";
	order?: "asc" | "dsc" | "desc";
	search?: string;
	skip?: number;
	count?: number;
}

export interface FlameQuery extends Filters {
	measure?:
		| "leaked"
		| "peak"
		| "allocated"
		| "temporary"
		| "alive"
		| "alive_at"
		| "short_lived"
		| "pinned";
	at?: string;
	below?: string;
	weight?: "bytes" | "count";
	direction?: "down" | "up";
	by?: "function" | "line" | "module" | "thread";
	threads?: boolean;
	limit?: number;
	against?: string;
	a?: string;
	against_at?: string;
}

export interface FleetGroupsQuery extends Filters {
	by?: "service" | "host" | "build" | "release" | "command" | "label" | "day" | "recording";
	label_name?: string;
	since?: string;
	until?: string;
	last?: string;
	search?: string;
	sort_by?:
		| "live"
		| "growth"
		| "name"
		| "recordings"
		| "hosts"
		| "services"
		| "peak"
		| "leaked"
		| "allocated"
		| "started"
		| "ended";
	order?: "asc" | "dsc" | "desc";
	skip?: number;
	count?: number;
	spark?: number;
}

export interface FleetGrowthQuery extends Filters {
	by?: "responsible" | "stack";
	since?: string;
	until?: string;
	last?: string;
	search?: string;
	sort_by?: "growth" | "live" | "before" | "recordings" | "name";
	order?: "asc" | "dsc" | "desc";
	skip?: number;
	count?: number;
	spark?: number;
}

export interface FleetRecordingsQuery extends Filters {
	id?: string;
	since?: string;
	until?: string;
	last?: string;
	sort_by?:
		| "started"
		| "ended"
		| "live"
		| "growth"
		| "peak"
		| "leaked"
		| "allocated"
		| "service"
		| "host"
		| "release";
	order?: "asc" | "dsc" | "desc";
	skip?: number;
	count?: number;
}

export interface FleetTrendQuery extends Filters {
	by?:
		| "all"
		| "service"
		| "host"
		| "build"
		| "release"
		| "command"
		| "label"
		| "day"
		| "recording";
	label_name?: string;
	since?: string;
	until?: string;
	last?: string;
	points?: number;
	count?: number;
}

export interface FragmentationQuery extends Filters {
	at?: string;
	level?: "page" | "4k" | "64k" | "64K" | "2m" | "2M";
	skip?: number;
	count?: number;
	points?: number;
}

export interface FunctionsQuery extends Filters {
	measure?:
		| "leaked"
		| "peak"
		| "allocated"
		| "temporary"
		| "alive"
		| "alive_at"
		| "short_lived"
		| "pinned";
	at?: string;
	below?: string;
	by?: "function" | "line" | "module";
	sort_by?: "own" | "total" | "self" | "own_count" | "total_count" | "self_count" | "name";
	order?: "asc" | "dsc" | "desc";
	search?: string;
	skip?: number;
	count?: number;
}

export interface GroupsQuery extends Filters {
	by?:
		| "stack"
		| "responsible"
		| "function"
		| "source"
		| "module"
		| "thread"
		| "call"
		| "size"
		| "size_class"
		| "lifetime";
	skip?: number;
	count?: number;
	sort_by?: string;
	order?: "asc" | "dsc" | "desc";
	spark?: number;
	stacks?: boolean;
	strip_template_args?: boolean;
}

export interface HistogramQuery extends Filters {
	of?: "size" | "lifetime";
	measure?:
		| "leaked"
		| "peak"
		| "allocated"
		| "temporary"
		| "alive"
		| "alive_at"
		| "short_lived"
		| "pinned";
	at?: string;
	below?: string;
	weight?: "bytes" | "count";
	top?: number;
}

export interface HoldersQuery extends Filters {
	at?: string;
	skip?: number;
	count?: number;
}

export interface LeaksQuery extends Filters {
	class?: "growing" | "unclear" | "bounded" | "sawtooth" | "start-up" | "pool";
	by?: "responsible" | "stack";
	all?: boolean;
	held?: boolean;
	skip?: number;
	count?: number;
	spark?: number;
}

export interface MalloptsQuery {
	skip?: number;
	count?: number;
	call?: "mallopt" | "malloc_trim" | "madvise" | "mprotect" | "brk" | "all";
	stacks?: boolean;
	strip_template_args?: boolean;
}

export interface MapsQuery extends Omit<Filters, "jemalloc"> {
	skip?: number;
	count?: number;
	sort_by?:
		"timestamp" | "address" | "size" | "peak_rss" | "rss" | "lifetime" | "thread" | "name";
	order?: "asc" | "dsc" | "desc";
	with_regions?: boolean;
	with_usage_history?: boolean;
	at?: string;
	generate_graphs?: boolean;
	spark?: number;
	stacks?: boolean;
	strip_template_args?: boolean;
	id?: number | string;
	name?: string;
	holds?: string;
	peak_rss_min?: string;
	peak_rss_max?: string;
	readable?: "only_true" | "only_false" | "yes" | "no";
	writable?: "only_true" | "only_false" | "yes" | "no";
	executable?: "only_true" | "only_false" | "yes" | "no";
	shared?: "only_true" | "only_false" | "yes" | "no";
	jemalloc?: "only_true" | "only_false" | "yes" | "no";
	memoir?: "only_true" | "only_false" | "yes" | "no";
	bytehound?: "only_true" | "only_false" | "yes" | "no";
}

export interface OverviewQuery extends Omit<Filters, "backtraces"> {
	verdicts?: boolean;
	sentences?: "all" | "quick" | "none";
	by?: "responsible" | "stack";
	top?: number;
	backtraces?: boolean;
}

export interface ProcessesQuery extends Filters {
	count?: number;
	top?: number;
	measure?: "peak" | "leaked" | "allocated" | "temporary";
}

export interface ProcessesFlameQuery extends Filters {
	measure?: "peak" | "leaked" | "allocated" | "temporary";
	weight?: "bytes" | "count";
	direction?: "down" | "up";
	by?: "function" | "line" | "module";
	limit?: number;
}

export interface RegionsQuery extends Filters {
	at?: string;
}

export interface RequirementsQuery extends Filters {
	max_peak?: string;
	max_leaked?: string;
	max_leaks?: string;
	max_allocations?: string;
	max_allocated?: string;
	max_temporary?: string;
	baseline?: string;
	fail_on?: string;
	count?: number;
}

export interface RssQuery {
	at?: string;
	skip?: number;
	count?: number;
	open?:
		| "requested"
		| "rounding"
		| "free_parts"
		| "free_pages"
		| "huge"
		| "allocator"
		| "stacks"
		| "code"
		| "data"
		| "files"
		| "anonymous"
		| "memoir"
		| "unknown";
	series?: boolean;
	points?: number;
}

export interface SourceQuery extends Filters {
	file: string;
	measure?:
		| "leaked"
		| "peak"
		| "allocated"
		| "temporary"
		| "alive"
		| "alive_at"
		| "short_lived"
		| "pinned";
	at?: string;
	below?: string;
}

export interface SourcesQuery extends Filters {
	measure?:
		| "leaked"
		| "peak"
		| "allocated"
		| "temporary"
		| "alive"
		| "alive_at"
		| "short_lived"
		| "pinned";
	at?: string;
	below?: string;
	search?: string;
	skip?: number;
	count?: number;
}

export interface StaticsQuery extends Filters {
	of?: "statics" | "constants";
}

export interface ThreadsQuery extends Filters {
	sort_by?:
		| "thread"
		| "name"
		| "allocated_bytes"
		| "allocated_count"
		| "leaked_bytes"
		| "leaked_count"
		| "peak_bytes"
		| "peak_count"
		| "temporary_bytes"
		| "temporary_count"
		| "freed_by_other_bytes"
		| "freed_by_other_count"
		| "first_ns"
		| "last_ns";
	order?: "asc" | "dsc" | "desc";
	skip?: number;
	count?: number;
	spark?: number;
}

export interface TimelineQuery extends Omit<Filters, "from" | "to"> {
	points?: number;
	from?: string;
	to?: string;
}

export interface TimelineMapsQuery extends Omit<Filters, "jemalloc"> {
	points?: number;
	id?: number | string;
	name?: string;
	holds?: string;
	peak_rss_min?: string;
	peak_rss_max?: string;
	readable?: "only_true" | "only_false" | "yes" | "no";
	writable?: "only_true" | "only_false" | "yes" | "no";
	executable?: "only_true" | "only_false" | "yes" | "no";
	shared?: "only_true" | "only_false" | "yes" | "no";
	jemalloc?: "only_true" | "only_false" | "yes" | "no";
	memoir?: "only_true" | "only_false" | "yes" | "no";
	bytehound?: "only_true" | "only_false" | "yes" | "no";
}

export interface TopQuery {
	sort_by?:
		| "held_bytes"
		| "held_count"
		| "change_bytes"
		| "bytes_per_second"
		| "allocations_per_second"
		| "allocations"
		| "allocated_bytes"
		| "temporary"
		| "function";
	order?: "asc" | "dsc" | "desc";
	text?: string;
	window?: string;
	skip?: number;
	count?: number;
	backtraces?: number;
	points?: number;
}

export interface TreeQuery extends Filters {
	measure?:
		| "leaked"
		| "peak"
		| "allocated"
		| "temporary"
		| "alive"
		| "alive_at"
		| "short_lived"
		| "pinned";
	at?: string;
	below?: string;
	weight?: "bytes" | "count";
	direction?: "down" | "up";
	by?: "function" | "line" | "module";
	threads?: boolean;
	min_share?: number;
	depth?: number;
	children?: number;
}

export interface UploadQuery {
	name?: string;
}

export interface AgentsSeriesQuery {
	since?: number | string;
}

export interface AgentsControlQuery {
	value?: string;
	arena?: string;
	lg_sample?: string;
	path?: string;
	name?: string;
}

export interface ProgressQuery {
	of: string;
}

export interface DataGraphQuery extends Filters {
	preview?: boolean;
	width?: number;
	height?: number;
}

export interface DataMapGraphQuery {
	map: number | string;
	preview?: boolean;
	width?: number;
	height?: number;
}

export interface DataAllocationGroupsQuery extends Filters {
	skip?: number;
	count?: number;
	sort_by?: string;
	order?: "asc" | "dsc" | "desc";
	generate_graphs?: boolean;
	spark?: number;
	stacks?: boolean;
	strip_template_args?: boolean;
}

export interface DataBacktracesQuery extends Filters {
	skip?: number;
	count?: number;
	strip_template_args?: boolean;
}

export interface DataBacktraceQuery {
	strip_template_args?: boolean;
}

export interface DataExportQuery extends Filters {
	measure?:
		| "leaked"
		| "peak"
		| "allocated"
		| "temporary"
		| "alive"
		| "alive_at"
		| "short_lived"
		| "pinned";
	at?: string;
	below?: string;
	weight?: "bytes" | "count";
	groups?: boolean;
	stacks?: "whole" | "table";
}

export interface DataScriptQuery {
	language?: "lua" | "rhai";
	with?: string;
	stream?: boolean;
}

export interface DataMapFilterToScriptQuery extends Omit<Filters, "jemalloc"> {
	id?: number | string;
	name?: string;
	holds?: string;
	peak_rss_min?: string;
	peak_rss_max?: string;
	readable?: "only_true" | "only_false" | "yes" | "no";
	writable?: "only_true" | "only_false" | "yes" | "no";
	executable?: "only_true" | "only_false" | "yes" | "no";
	shared?: "only_true" | "only_false" | "yes" | "no";
	jemalloc?: "only_true" | "only_false" | "yes" | "no";
	memoir?: "only_true" | "only_false" | "yes" | "no";
	bytehound?: "only_true" | "only_false" | "yes" | "no";
}

export interface DumpsReportQuery {
	measure?: "inuse_space" | "inuse_objects" | "alloc_space" | "alloc_objects";
	by?: "function" | "line" | "file" | "address";
	thread?: number | string;
	focus?: string;
	ignore?: string;
	retain?: string;
	exclude?: string;
	allocator?: boolean;
	base?: string;
	drop_negative?: boolean;
	cum?: boolean;
	show_bytes?: boolean;
	count?: number;
	form?: "text" | "json" | "csv";
	regex?: string;
	node_count?: number;
	node_share?: number;
	edge_share?: number;
	max_degree?: number;
}

export type Nothing = Record<never, never>;

export interface Endpoints {
	"/data/{id}/address_space": AddressSpaceQuery;
	"/data/{id}/allocations": AllocationsQuery;
	"/data/{id}/blame": BlameQuery;
	"/data/{id}/callers": CallersQuery;
	"/data/{id}/complete": CompleteQuery;
	"/data/{id}/diff": DiffQuery;
	"/dumps/{id}/facts": Nothing;
	"/dumps/{id}/flame": DumpFlameQuery;
	"/dumps/{id}/top": DumpTopQuery;
	"/data/{id}/info": Nothing;
	"/data/{id}/flame": FlameQuery;
	"/fleets/{id}/groups": FleetGroupsQuery;
	"/fleets/{id}/growth": FleetGrowthQuery;
	"/fleets/{id}/recordings": FleetRecordingsQuery;
	"/fleets/{id}/trend": FleetTrendQuery;
	"/data/{id}/fragmentation": FragmentationQuery;
	"/data/{id}/functions": FunctionsQuery;
	"/data/{id}/groups": GroupsQuery;
	"/data/{id}/histogram": HistogramQuery;
	"/data/{id}/holders": HoldersQuery;
	"/data/{id}/leaks": LeaksQuery;
	"/data/{id}/mallopts": MalloptsQuery;
	"/data/{id}/maps": MapsQuery;
	"/data/{id}/matches": Filters;
	"/data/{id}/missing_names": Nothing;
	"/data/{id}/overview": OverviewQuery;
	"/folders/{id}/processes": ProcessesQuery;
	"/folders/{id}/flame": ProcessesFlameQuery;
	"/data/{id}/regions": RegionsQuery;
	"/data/{id}/requirements": RequirementsQuery;
	"/data/{id}/rss": RssQuery;
	"/data/{id}/source": SourceQuery;
	"/data/{id}/sources": SourcesQuery;
	"/data/{id}/statics": StaticsQuery;
	"/data/{id}/statistics": Nothing;
	"/data/{id}/statistics/{number}": Nothing;
	"/data/{id}/threads": ThreadsQuery;
	"/data/{id}/timeline": TimelineQuery;
	"/data/{id}/timeline_maps": TimelineMapsQuery;
	"/data/{id}/top": TopQuery;
	"/data/{id}/call_tree": TreeQuery;
	"/": Nothing;
	"/list": Nothing;
	"/upload": UploadQuery;
	"/data/{id}": Nothing;
	"/api": Nothing;
	"/agents": Nothing;
	"/agents/{agent}/stats": Nothing;
	"/agents/{agent}/series": AgentsSeriesQuery;
	"/agents/{agent}/control/{name*}": AgentsControlQuery;
	"/agents/{agent}/dump": Nothing;
	"/agents/{agent}/snapshot": Nothing;
	"/progress": ProgressQuery;
	"/data/{id}/graph": DataGraphQuery;
	"/data/{id}/map_graph": DataMapGraphQuery;
	"/data/{id}/find_names": Nothing;
	"/data/{id}/allocation_groups": DataAllocationGroupsQuery;
	"/data/{id}/timeline_leaked": TimelineQuery;
	"/data/{id}/tree": TreeQuery;
	"/data/{id}/allocation_ascii_tree": Filters;
	"/data/{id}/raw_allocations": Filters;
	"/data/{id}/backtraces": DataBacktracesQuery;
	"/data/{id}/backtrace/{backtrace_id}": DataBacktraceQuery;
	"/data/{id}/export/{format}": DataExportQuery;
	"/data/{id}/export/{format}/{name}": DataExportQuery;
	"/scripting": Nothing;
	"/data/{id}/script": DataScriptQuery;
	"/data/{id}/execute_script": DataScriptQuery;
	"/data/{id}/script_files/{hash}/{name}": Nothing;
	"/data/{id}/allocation_filter_to_script": Filters;
	"/data/{id}/map_filter_to_script": DataMapFilterToScriptQuery;
	"/data/{id}/dynamic_constants": Filters;
	"/data/{id}/dynamic_constants/{name}": Filters;
	"/data/{id}/dynamic_constants_ascii_tree": Filters;
	"/data/{id}/dynamic_constants_ascii_tree/{name}": Filters;
	"/data/{id}/dynamic_statics": Filters;
	"/data/{id}/dynamic_statics/{name}": Filters;
	"/data/{id}/dynamic_statics_ascii_tree": Filters;
	"/data/{id}/dynamic_statics_ascii_tree/{name}": Filters;
	"/data/{id}/statistics_report": Nothing;
	"/dumps/{id}/raw": Nothing;
	"/dumps/{id}/report/{format}": DumpsReportQuery;
	"/dumps/{id}/report/{format}/{name}": DumpsReportQuery;
}

export interface AllocationNumbers {
	timestamp: Timeval;
	lifetime: Timeval;
	size: number;
	extra_space: number;
	address: number;
	chain_length: number;
	chain_lifetime: Timeval;
	position_in_chain: number;
	marker: number;
	thread: number;
}

export type GroupNumber =
	| "size"
	| "usable_size"
	| "min_size"
	| "max_size"
	| "min_timestamp"
	| "max_timestamp"
	| "interval"
	| "allocated_count"
	| "leaked_count"
	| "leaked_size"
	| "max_total_usage_first_seen_at"
	| "peak_size"
	| "peak_count"
	| "key";

/* Whose a frame is, by its number in a flame graph; a later one is preferred. */
export const FRAME_KINDS = [
	"start",
	"allocator",
	"wrapper",
	"hidden",
	"library",
	"runtime",
	"standard",
	"program",
] as const;
