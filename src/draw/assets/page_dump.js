/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a page says of a heap profile dump, in figures and warnings. */
function signed(n, text) { return (n < 0 ? "−" : "+") + text(Math.abs(n)); }

function showDump() {
	const d = data.dump, text = d.base ? (n, f) => signed(n, f) : (n, f) => f(n);
	const count = (n) =>
		`${d.base ? "and" : "in"} ${text(n, grouped)} ${n === 1 ? "block" : "blocks"}`;
	const figures = [figure(text(d.bytes, bytes), d.base ? "Alive, compared" : "Alive",
		count(d.count))];
	if (d.all_count) figures.push(figure(text(d.all_bytes, bytes), d.base ? "Allocated, compared" :
		"Allocated", `${count(d.all_count)} since the start`));
	figures.push(figure(grouped(d.stacks), d.stacks === 1 ? "Stack" : "Stacks",
		`of ${grouped(d.functions)} ${d.functions === 1 ? "function" : "functions"}`));
	figures.push(d.rate > 1 ? figure(bytes(d.rate), "Sampled every", "and estimated from that") :
		figure("all", "Sampled", "every allocation was counted"));
	$("figures").replaceChildren(...figures);
	$("overview-say").textContent = d.base ?
		`what is in ${data.title} and was not in ${d.base}, and the other way round` :
		"who holds the memory, by stacks that were sampled";
	const facts = [["Dump", data.title], ["Compared with", d.base]];
	$("facts").replaceChildren(...facts.filter(([, value]) => value).flatMap(([key, value]) =>
		[element("dt", {}, key), element("dd", { class: "mono" }, value)]));
	$("subtitle").textContent = `${text(d.bytes, bytes)} ${d.base ? "since " + d.base : "alive"}`;
	$("recording").replaceChildren(element("b", {}, data.title), "heap profile");
	$("footer").textContent = `Written by memoir ${data.version}. This page is complete: it ` +
		`loads nothing.`;
	const nameless = data.functions.filter((f) => /^(\[.*\+)?0x[0-9a-f]+\]?$/.test(f[0])).length;
	$("warnings").replaceChildren(...(nameless ? [element("p", { class: "warning" },
		`${grouped(nameless)} of ${grouped(data.functions.length)} functions have no ` +
			`name: their files, or the symbols in them, were not found. “memoir jemalloc ` +
			`heap --debug PATH” takes files and folders with symbols.`)] : []));
}
