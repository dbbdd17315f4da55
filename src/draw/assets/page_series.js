/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory over time: one curve, or two, and a cursor that says what was then. */
const series = data.series, POINTS = series ? series.bytes.length : 0;
const HEIGHT_BELOW = 20; /* of the axis' labels */
const chart = { at: -1 };

function pointTime(i) { return series.from_ns + (series.to_ns - series.from_ns) * i / POINTS; }
function bucketSeconds() { return Math.max((series.to_ns - series.from_ns) / POINTS / 1e9, 1e-9); }
function perSecond(values) { return values.map((v) => v / bucketSeconds()); }

const SERIES = {
	bytes: { values: () => series.bytes, second: () => series.leaked, text: bytes,
		legend: [["", "alive, the most at any instant"], ["leaked", "of that, never freed"]] },
	count: { values: () => series.count, text: grouped, legend: [["", "blocks alive"]] },
	calls: { values: () => perSecond(series.allocated), second: () => perSecond(series.freed),
		text: (n) => grouped(n) + "/s",
		legend: [["", "allocations a second"], ["freed", "frees a second"]] },
	rate: { values: () => perSecond(series.allocated_bytes),
		second: () => perSecond(series.freed_bytes), text: (n) => bytes(n) + "/s",
		legend: [["", "bytes allocated a second"], ["freed", "bytes freed a second"]] },
};

function svgElement(tag, attributes, text) {
	const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
	for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
	if (text !== undefined) made.textContent = text;
	return made;
}

/* Steps that people count in. */
function timeStep(span, most) {
	const steps = [1, 2, 5];
	let unit = 1;
	for (;;) {
		for (const s of steps) if (span / (s * unit) <= most) return s * unit;
		unit *= 10;
		if (unit === 10e9 || unit === 100e9) {
			for (const s of [15e9, 30e9, 60e9, 120e9, 300e9, 600e9, 1800e9, 3600e9, 7200e9, 21600e9,
				86400e9]) if (span / s <= most) return s;
		}
	}
}

function seriesMoment(i) {
	return [
		`${bytes(series.bytes[i])} alive in ${blocks(series.count[i])}`,
		`${bytes(series.leaked[i])} of it never freed`,
		`${grouped(series.allocated[i] / bucketSeconds())} allocations and ` +
			`${grouped(series.freed[i] / bucketSeconds())} frees a second`,
	];
}

function drawSeries() {
	if (!series) return;
	const kind = SERIES[state.series], values = kind.values(), second = kind.second ?
		kind.second() : null;
	const box = $("chart"), width = box.clientWidth, height = box.clientHeight - HEIGHT_BELOW;
	const most = Math.max(1e-9, ...values, ...(second || []));
	const x = (i) => i / POINTS * width, y = (v) => height - v / most * (height - 14);
	const line = (list) =>
		list.map((v, i) => `${i ? "L" : "M"}${x(i + 0.5).toFixed(1)} ${y(v).toFixed(1)}`).join("");
	const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height + HEIGHT_BELOW}`,
		"aria-hidden": "true" });
	for (const part of [0, 0.5, 1]) {
		svg.append(svgElement("line", { class: "grid", x1: 0, x2: width, y1: y(most * part),
			y2: y(most * part) }));
		if (part) svg.append(svgElement("text", { x: 4, y: y(most * part) - 3 },
			kind.text(most * part)));
	}
	svg.append(
		svgElement("path",
		{ class: "area", d: `${line(values)}L${x(POINTS - 0.5)} ${height}L${x(0.5)} ${height}Z` }));
	svg.append(svgElement("path", { class: "curve", d: line(values) }));
	if (second) svg.append(
		svgElement("path", { class: "second " + kind.legend[1][0], d: line(second) }));
	const span = series.to_ns - series.from_ns, step = timeStep(span, Math.max(2, width / 130));
	for (let t = 0; t < span; t += step) {
		const at = t / span * width;
		if (at < width - 50) svg.append(svgElement("text", { x: at, y: height + 16 },
			t ? duration(t) : "0"));
	}
	if (!data.filter && data.totals.peak_bytes && span) {
		const at = (data.totals.peak_at_ns - series.from_ns) / span * width, late = at > width - 60;
		svg.append(svgElement("line", { class: "peak", x1: at, x2: at, y1: 0, y2: height }));
		svg.append(
			svgElement("text", { x: late ? at - 4 : at + 4, y: height - 6, "text-anchor": late ?
			"end" : "start" }, "peak"));
	}
	if (chart.at >= 0) svg.append(
		svgElement("line", { class: "cursor", x1: x(chart.at + 0.5), x2: x(chart.at + 0.5), y1: 0,
		y2: height }));
	box.replaceChildren(svg);
	$("legend").replaceChildren(
		...kind.legend.map(([name, text]) => element("span", {}, element("i", { class: name }),
		text)));
}

function moveCursor(i) {
	const box = $("chart");
	chart.at = Math.max(0, Math.min(POINTS - 1, i));
	box.setAttribute("aria-valuenow", chart.at);
	box.setAttribute("aria-valuetext",
		`${duration(pointTime(chart.at + 0.5))} after the start: ` +
			`${seriesMoment(chart.at).join(", ")}`);
	drawSeries();
}

/* A table of it, coarser than the curve: what was most in each stretch. */
function seriesTable() {
	const rows = Math.min(POINTS, 40), step = POINTS / rows, body = element("tbody", {});
	for (let r = 0; r < rows; r++) {
		const from = Math.floor(r * step), to = Math.floor((r + 1) * step),
			part = (list) => list.slice(from, to);
		const sum = (list) => part(list).reduce((a, b) => a + b, 0);
		body.append(element("tr", {}, element("td", {}, duration(pointTime(from))),
			element("td", { class: "n" }, bytes(Math.max(...part(series.bytes)))),
				element("td", { class: "n" }, grouped(Math.max(...part(series.count)))),
			element("td", { class: "n" }, grouped(sum(series.allocated))),
				element("td", { class: "n" }, grouped(sum(series.freed)))));
	}
	const head = element("tr", {}, ...["from", "most bytes alive", "most blocks alive",
		"allocations",
		"frees"].map((text, i) => element("th", { scope: "col", class: i ? "n" : "" }, text)));
	$("live-table").replaceChildren(element("table", {}, element("thead", {}, head), body));
}

function showSeries() {
	if (!series) return;
	const t = data.totals;
	$("live-say").textContent = data.filter ? "what the filter chooses" :
		`peak ${bytes(t.peak_bytes)} after ${duration(t.peak_at_ns)} · never freed ` +
			`${bytes(t.leaked_bytes)}`;
	drawSeries();
	seriesTable();
}

function startSeries() {
	if (!series) {
		$("live").remove();
		document.querySelector("#side a[href='#live']").parentNode.remove();
		return;
	}
	const box = $("chart");
	box.setAttribute("aria-valuemax", POINTS - 1);
	box.setAttribute("aria-valuenow", 0);
	box.setAttribute("aria-valuetext", "no moment chosen: arrows choose one");
	choice($("live-choices"), "What is drawn", "series", [["bytes", "bytes"], ["count", "blocks"],
		["calls", "alloc/s"], ["rate", "bytes/s"]], showSeries);
	box.addEventListener("mousemove", (event) => {
		const r = box.getBoundingClientRect();
		moveCursor(Math.floor((event.clientX - r.left) / r.width * POINTS));
		showTip(event, `${duration(pointTime(chart.at + 0.5))} after the start`,
			seriesMoment(chart.at));
	});
	box.addEventListener("mouseleave", () => {
		$("tip").hidden = true;
		chart.at = -1;
		drawSeries();
	});
	box.addEventListener("keydown", (event) => {
		const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1,
			PageDown: -POINTS / 20, PageUp: POINTS / 20, Home: -POINTS, End: POINTS };
		if (!(event.key in steps)) return;
		event.preventDefault();
		moveCursor(Math.round((chart.at < 0 ? 0 : chart.at) + steps[event.key]));
		const r = box.getBoundingClientRect();
		showTip({ clientX: r.left + (chart.at + 0.5) / POINTS * r.width, clientY: r.top + 20 },
			`${duration(pointTime(chart.at + 0.5))} after the start`, seriesMoment(chart.at));
	});
	box.addEventListener("blur", () => { $("tip").hidden = true; });
}
