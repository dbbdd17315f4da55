/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the report is made of, numbers for people, and small helpers for the page's elements. */
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
/* What cannot be seen is shown by another character. */
for (const f of data.functions)
	f[0] = f[0].replace(/[\u0000-\u001f]/g,
		(c) => String.fromCharCode(0x2400 + c.charCodeAt(0))).replace(/\u007f/g, "\u2421");
const $ = (id) => document.getElementById(id);
/* Of a heap profile dump there is other data than of a recording: data.dump says so. */
const DEFAULTS = Object.assign({ measure: "leaked", unit: "bytes", way: "down", base: "1024",
	theme: "", table: "leaks", series: "bytes", q: "" }, data.defaults);
const state = Object.assign({}, DEFAULTS);

/* What was chosen is in the address, so that a link to it can be sent. */
function loadState() {
	const from = new URLSearchParams(location.hash.replace(/^#\??/, ""));
	for (const key of Object.keys(DEFAULTS)) if (from.has(key)) state[key] = from.get(key);
}
function saveState() {
	const to = new URLSearchParams();
	for (const key of Object.keys(DEFAULTS)) if (state[key] !== DEFAULTS[key]) to.set(key,
		state[key]);
	try {
		history.replaceState(null, "", "#" + to);
	} catch (error) { /* some viewers allow no address of one's own */ }
}

function grouped(n) {
	return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}
function digits(n) {
	return n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n.toFixed(2);
}
function bytes(n) {
	const decimal = state.base === "1000", step = decimal ? 1000 : 1024;
	const units = decimal ? ["B", "kB", "MB", "GB", "TB", "PB"] : ["B", "KiB", "MiB", "GiB", "TiB",
		"PiB"];
	let unit = 0;
	while (n >= step && unit < units.length - 1) { n /= step; unit++; }
	return (unit ? digits(n) : String(Math.round(n))) + " " + units[unit];
}
function exact(n) { return grouped(n) + (n === 1 ? " byte" : " bytes"); }
function blocks(n) { return grouped(n) + (n === 1 ? " block" : " blocks"); }
function amount(n, unit) { return unit === "count" ? blocks(n) : bytes(n); }
function share(part, whole) {
	const percent = whole ? part / whole * 100 : 0;
	return (percent > 0 && percent < 0.1 ? "<0.1" : percent.toFixed(1)) + " %";
}
function duration(ns) {
	if (ns < 1e3) return ns.toFixed(0) + " ns";
	if (ns < 1e6) return digits(ns / 1e3) + " µs";
	if (ns < 1e9) return digits(ns / 1e6) + " ms";
	if (ns < 60e9) return digits(ns / 1e9) + " s";
	const minutes = Math.floor(ns / 60e9);
	const two = (n) => String(Math.floor(n)).padStart(2, "0");
	if (minutes < 60) return minutes + " min " + two(ns / 1e9 % 60) + " s";
	return Math.floor(minutes / 60) + " h " + two(minutes % 60) + " min";
}
function middle(text, length) {
	if (text.length <= length) return text;
	const head = Math.floor(length / 2);
	return text.slice(0, head) + "…" + text.slice(text.length - (length - 1 - head));
}
function base(path) { return path.slice(path.lastIndexOf("/") + 1); }

/* element("p", { class: "note" }, "text", other, …) */
function element(tag, attributes, ...inside) {
	const made = document.createElement(tag);
	for (const [key, value] of Object.entries(attributes || {}))
		if (value !== null && value !== undefined && value !== false) made.setAttribute(key,
			value === true ? "" : value);
	made.append(...inside.filter((x) => x !== null && x !== undefined));
	return made;
}

/* Radio buttons that look like one bar. */
function choice(parent, label, key, options, changed) {
	const field = element("fieldset", { class: "choice" },
		element("legend", { class: "sr" }, label));
	for (const [value, text] of options) {
		const input = element("input",
			{ type: "radio", name: key, value, checked: state[key] === value });
		input.addEventListener("change", () => {
			state[key] = value;
			saveState();
			changed();
		});
		field.append(element("label", {}, text, input));
	}
	parent.append(field);
}

/* A function of the page, by its number; -1 stands for several. */
const OTHERS = -1, ALL = -2;
function functionName(f) {
	return f === ALL ? "all" : f === OTHERS ? "(smaller ones)" : data.functions[f][0];
}
function moduleName(f) {
	return f >= 0 && data.functions[f][4] >= 0 ? base(data.modules[data.functions[f][4]]) : "";
}
function isGrey(f) { return f < 0 || data.functions[f][5] < 0; }
/* "table.cc:118–342" */
function source(f) {
	if (f < 0 || data.functions[f][1] < 0) return "";
	const [, file, first, last] = data.functions[f];
	return base(data.files[file]) + (first ? ":" + first : "") + (last > first ? "–" + last : "");
}
function sourceAt(f, line) {
	if (f < 0 || data.functions[f][1] < 0) return "";
	return base(data.files[data.functions[f][1]]) + (line ? ":" + line : "");
}
function isDark() {
	const theme = document.documentElement.dataset.theme;
	return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
/* The same hues as in an SVG of this program; see flame.h. */
function colour(f, dark) {
	const c = f >= 0 ? data.functions[f][5] : -1;
	if (c < 0) return dark ? `hsl(210 6% ${26 + 2 * (-1 - c)}%)` :
		`hsl(210 6% ${78 + 3 * (-1 - c)}%)`;
	const hue = 16 + Math.floor(c / 5), shade = c % 5;
	return dark ? `hsl(${hue} 46% ${34 + 3 * shade}%)` : `hsl(${hue} 84% ${62 + 4 * shade}%)`;
}
