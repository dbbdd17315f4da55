/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rest of the page: what was recorded, what is missing, dark and light, and the start of it
 * all. */
function figure(value, label, below, bad) {
	return element("div", { class: bad ? "figure bad" : "figure" }, element("span", {}, label),
		element("b", {}, value), element("span", {}, below));
}

function showFigures() {
	const t = data.totals,
		growing = data.tables.leaks.rows.filter(
			(row) => row.verdict === "growing" && row.matters);
	const cost = data.cost ? data.cost.percent !== undefined ?
		(data.cost.percent < 10 ? data.cost.percent.toFixed(1) : data.cost.percent.toFixed(0)) +
		" %" : "—" : "—";
	$("overview-say").textContent = growing.length ?
		`${growing.length}` +
			`${data.tables.leaks.rows.length < data.tables.leaks.stacks ? " or more" : ""} ` +
			`${growing.length === 1 ? "stack grows" : "stacks grow"} to the end of the run` :
		t.leaked_count ? "nothing that was kept grows to the end" : "everything was freed";
	$("figures").replaceChildren(
		figure(bytes(t.peak_bytes), "Peak",
			`in ${blocks(t.peak_count)}, after ${duration(t.peak_at_ns)}`),
		figure(bytes(t.leaked_bytes), "Never freed", `in ${blocks(t.leaked_count)}`,
			growing.length > 0),
		figure(bytes(t.allocated_bytes), "Allocated",
			`in ${blocks(t.allocations)}, ${grouped(t.reallocations)} by realloc`),
		figure(share(t.temporary, t.allocations), "Temporary",
			`${grouped(t.temporary)} freed by the next event`),
		figure(duration(data.runtime_ns), "Run time",
			`${grouped(data.threads)} ${data.threads === 1 ? "thread" : "threads"}` +
			(data.end ? `, ${data.end}` : "")),
		figure(cost, "Cost of recording", data.cost ?
			(data.cost.percent === undefined ? "too few events to tell; " : "") +
			`${duration(data.cost.ns)}, ${bytes(data.cost.memory)} of memory` : "not measured"));
}

function showFacts() {
	const start = data.start ? new Date(data.start * 1000) : null;
	const facts = [
		["Command", data.command, true], ["Program", data.executable, true],
		["Started", start ?
			start.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" }) +
			(data.host ? ` on ${data.host}` : "") : null],
		["Process", data.pid ? `${data.pid}, ${data.arch || ""}` : null],
			["Allocator", data.allocator],
		["Filter", data.filter ? data.filter.expression : null, true],
	];
	$("facts").replaceChildren(...facts.filter(([, value]) => value).flatMap(([key, value, code]) =>
		[element("dt", {}, key), element("dd", { class: code ? "mono" : null }, value)]));
	$("subtitle").textContent = [start &&
		start.toLocaleDateString(undefined, { dateStyle: "medium" }), duration(data.runtime_ns),
		`peak ${bytes(data.totals.peak_bytes)}`,
		`never freed ${bytes(data.totals.leaked_bytes)}`].filter(Boolean).join(" · ");
	$("recording").replaceChildren(element("b", {}, data.title),
		[data.pid ? `pid ${data.pid}` : null, start &&
			start.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }),
			duration(data.runtime_ns)].filter(Boolean).join(" · "),
		element("br"), `${grouped(data.totals.events)} events`);
	$("footer").textContent = `Written by memoir ${data.version}. This page is complete: it ` +
		`loads nothing.`;
}

function showWarnings() {
	const texts = [];
	if (data.filter) texts.push(
		`Only what matches the filter is shown: ${grouped(data.filter.count)} ` +
			`allocations, ${bytes(data.filter.bytes)}. The overview is of everything.`);
	if (data.unfinished) texts.push(
		"The recording has no end: its program was still running, or its " +
			"writer was killed. What came before is complete.");
	if (data.losses.length) texts.push("Missing in the recording: " + data.losses.join("; ") + ".");
	if (data.removed) texts.push(
		`Single allocations were culled: ${grouped(data.removed)} that were freed` +
			(data.removed_below_ns ? " after no more than " +
				duration(data.removed_below_ns) : "") +
			`. The totals include them; memory over time does not.`);
	if (data.nameless.length) {
		const shown = data.nameless.slice(0, 5).map(([path, count]) =>
			`${base(path)} (${grouped(count)})`).join(", ");
		texts.push(
			`Functions without a name, which are shown as addresses: ${shown}` +
				(data.nameless.length > 5 ? ` and ${data.nameless.length - 5} more modules` : "") +
				`. “memoir info” says where their symbols may be had.`);
	}
	$("warnings").replaceChildren(...texts.map((text) => element("p", { class: "warning" }, text)));
}

function showAll() {
	if (data.dump) showDump();
	else {
		showFigures();
		showFacts();
		showWarnings();
	}
	showSeries();
	showFlame();
	showTable();
}

function setTheme(theme) {
	state.theme = theme;
	if (theme) document.documentElement.dataset.theme = theme;
	else delete document.documentElement.dataset.theme;
}

/* Where the reader is, in the column on the left. */
function followReading() {
	const links = [...document.querySelectorAll("#side li a")];
	const watch = new IntersectionObserver((entries) => {
		for (const entry of entries)
			if (entry.isIntersecting)
				for (const link of links) {
					if (link.hash === "#" + entry.target.id) link.setAttribute("aria-current",
						"true");
					else link.removeAttribute("aria-current");
				}
	}, { rootMargin: "-20% 0px -70% 0px" });
	document.querySelectorAll(".card").forEach((card) => watch.observe(card));
}

loadState();
if (!data.dump && !location.hash.includes("measure=") && !data.totals.leaked_count) Object.assign(
	state, { measure: "peak", table: "peak" });
setTheme(state.theme);
choice($("base"), "Sizes", "base", [["1024", "KiB"], ["1000", "kB"]], showAll);
$("theme").addEventListener("click", () => {
	setTheme(isDark() ? "light" : "dark");
	saveState();
	drawFlame();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawFlame);
startSeries();
startFlame();
startTables();
showAll();
followReading();
let resizing = 0;
window.addEventListener("resize", () => {
	cancelAnimationFrame(resizing);
	resizing = requestAnimationFrame(() => { drawSeries(); drawFlame(); });
});
