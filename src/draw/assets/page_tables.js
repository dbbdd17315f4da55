/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tables: who leaks, who makes up the peak, who allocates most, and for nothing; of dumps who holds
 * what; and all functions. */
const ROWS_FIRST = 12; /* of a table, until more are asked for */
const TABLES = {
	leaks: { title: "leaks", measure: "leaked", by: "bytes", empty: "Everything was freed." },
	peak: { title: "peak", measure: "peak", by: "bytes", empty: "Nothing was ever alive." },
	allocations: { title: "most allocations", measure: "allocated", by: "count",
		empty: "There were none." },
	temporary: { title: "temporary", measure: "temporary", by: "count", empty: "There were none." },
	alive: { title: "alive", measure: "alive", by: "bytes",
		empty: "Nothing was sampled that is alive." },
	allocated: { title: "allocated", measure: "allocated", by: "bytes",
		empty: "Nothing was sampled." },
	added: { title: "added", measure: "added", by: "bytes", empty: "Nothing became more." },
	gone: { title: "gone", measure: "gone", by: "bytes", empty: "Nothing became less." },
};

/* Pairs of function and line; null where frames were left out. */
function framesOf(row) {
	const frames = [];
	for (let i = 0; i < row.frames.length; i++) {
		if (row.frames[i] === null) frames.push(null);
		else frames.push({ f: row.frames[i], line: row.frames[++i] });
	}
	return frames;
}

/* The innermost function that is the program's own, and what it called to get the memory. */
function allocatedIn(row) {
	const frames = framesOf(row).filter(Boolean), own = frames.find((x) => !isGrey(x.f)) ||
		frames[0];
	if (!own) return { name: row.call || "(no stack)", where: "no stack was recorded" };
	const before = frames[0] !== own ? functionName(frames[0].f).replace(/\(.*$/, "") + " ← " : "";
	return { name: before + functionName(own.f), where: sourceAt(own.f, own.line) ||
		moduleName(own.f) };
}

function stackOf(row) {
	const list = element("ol", { class: "frames" }, row.call ?
		element("li", { class: "grey" }, row.call) : null);
	const frames = framesOf(row), hidden = row.deep - frames.filter(Boolean).length;
	for (const frame of frames) {
		if (!frame) {
			list.append(element("li", { class: "grey" },
				`… ${grouped(hidden)} frames that are not in this file`));
			continue;
		}
		const where = [sourceAt(frame.f, frame.line), moduleName(frame.f)].filter(Boolean).join(
			"  ");
		list.append(element("li", { class: isGrey(frame.f) ? "grey" : null }, functionName(frame.f),
			" ", element("span", { class: "dim" }, where)));
	}
	return list;
}

function verdictOf(row) {
	const says = { growing: row.rate > 0 ? `grows ${bytes(row.rate)}/s` : "grows",
		bounded: `bounded at ${bytes(Math.max(row.most, row.bytes))}`, sawtooth: "sawtooth",
		"start-up": "start-up" };
	return element("span", { class: `verdict ${row.matters ? row.verdict : ""}`,
		title: row.meaning },
		says[row.verdict] || row.verdict);
}

function number(text, title) { return element("td", { class: "n", title }, text); }
function bar(part, whole) {
	const fill = element("i", {});
	fill.style.width = (whole ? Math.max(part / whole * 100, 0.5) : 0) + "%";
	return element("div", { class: "bar" }, fill);
}

/* A row, and the one below it with the stack, which is made when it is opened. */
function stackRows(row, kind, whole, verdicts) {
	const { name, where } = allocatedIn(row), columns = verdicts ? 5 : 4;
	const button = element("button", { type: "button", "aria-expanded": "false" },
		middle(name, 300));
	const cell = number(bytes(row.bytes), exact(row.bytes));
	cell.append(bar(row[kind.by], whole));
	const main = element("tr", {}, element("td", { class: "name" }, button,
		element("span", { class: "dim" }, where)), cell,
		number(share(row[kind.by], whole)), number(grouped(row.count)));
	if (verdicts) main.append(element("td", {}, verdictOf(row)));
	let open = null;
	button.addEventListener("click", () => {
		const opening = button.getAttribute("aria-expanded") === "false";
		button.setAttribute("aria-expanded", String(opening));
		if (!opening) {
			open.remove();
			return;
		}
		const evidence = row.evidence ? element("p", { class: "evidence dim" },
			`${row.meaning}; ${row.evidence}; ${Math.round(row.sure * 100)} % sure`) : null;
		open = element("tr", { class: "stack" }, element("td", { colspan: columns }, evidence,
			stackOf(row)));
		main.after(open);
	});
	return main;
}

function tableHead(titles) {
	return element("thead", {},
		element("tr", {},
		...titles.map(([text, numeric]) =>
		element("th", { scope: "col", class: numeric ? "n" : null }, text))));
}

/* The first rows, and a button for the others. */
function longTable(titles, rows, make) {
	const body = element("tbody", {}, ...rows.slice(0, ROWS_FIRST).map(make)),
		rest = rows.length - ROWS_FIRST;
	const table = element("table", {}, tableHead(titles), body);
	if (rest <= 0) return [table];
	const more = element("button", { type: "button", class: "more" }, `Show ${grouped(rest)} more`);
	more.addEventListener("click", () => {
		const added = rows.slice(ROWS_FIRST).map(make);
		body.append(...added);
		more.remove();
		(added[0].querySelector("button") || $("table")).focus();
	});
	return [table, more];
}

function showStacks(kind, table) {
	const weights = flameOf(kind.measure, "down", kind.by).tree, whole = weights[kind.by][0],
		verdicts = state.table === "leaks";
	const rest = table.stacks - table.rows.length;
	$("who-say").textContent = `${grouped(table.stacks)} ` +
		`${table.stacks === 1 ? "stack" : "stacks"}, ` +
		(verdicts ? "what grows first" : kind.by === "bytes" ? "by bytes" : "by calls") +
			(rest ? `; the first ${table.rows.length} are in this file` : "");
	if (!table.rows.length) return [element("p", { class: "dim" }, kind.empty)];
	const titles = [["allocated in"], ["bytes", 1], ["share", 1],
		[kind.by === "bytes" ? "blocks" : "calls", 1]];
	if (verdicts) titles.push(["verdict"]);
	return longTable(titles, table.rows, (row) => stackRows(row, kind, whole, verdicts));
}

/* The flame graph as a table. */
function showFunctions() {
	const { tree } = flameOf(state.measure, "down", "bytes"), whole = tree.bytes[0];
	const rows = functionTotals(state.measure).sort((a, b) => b.bytes - a.bytes);
	$("who-say").textContent = `${grouped(rows.length)} functions with those that they call: ` +
		`${MEASURE_WORDS[state.measure]}`;
	return longTable([["function"], ["bytes", 1], ["share", 1], ["blocks", 1], ["itself", 1]], rows,
		(t) => {
		const cell = number(bytes(t.bytes), exact(t.bytes)),
			where = [source(t.f), moduleName(t.f)].filter(Boolean).join("  ");
		cell.append(bar(t.bytes, whole));
		return element("tr", {},
			element("td", { class: "name" }, element("b", {}, middle(functionName(t.f), 300)),
			element("span", { class: "dim flush" }, where)),
			cell, number(share(t.bytes, whole)), number(grouped(t.count)),
				number(bytes(t.own), exact(t.own)));
	});
}

function showTable() {
	const kind = TABLES[state.table];
	$("table").replaceChildren(...(kind ? showStacks(kind, data.tables[state.table]) :
		showFunctions()));
}

function startTables() {
	choice($("who-choices"), "Table", "table",
		[...Object.keys(data.tables).map((key) => [key, TABLES[key].title]),
		["functions", "functions"]], showTable);
}
