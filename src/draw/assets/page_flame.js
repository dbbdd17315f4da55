/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The flame graph: a canvas as large as what is seen of it, in a box that scrolls.
 *
 * A node is drawn from the one that is zoomed to; that one's callers stand above it over the whole
 * width. What is hit by the pointer is found by the same arithmetic that draws. */
const ROW = 21, BOX = 20, THINNEST = 0.4;
const flame = { view: null, zoom: 0, selected: -1, matched: null, expression: null, width: 0 };

const MEASURE_WORDS = {
	leaked: "never freed", peak: "alive at the peak", allocated: "allocated in the whole run",
		temporary: "temporary: freed by their thread's next event",
	alive: "alive when the dump was written", added: "more than in the base",
		gone: "less than in the base",
};

function ancestors(i) {
	const found = [];
	for (let p = flame.view.tree.parent[i]; p >= 0; p = flame.view.tree.parent[p]) found.unshift(p);
	return found;
}

function boxesRoom() { return Math.max(ROW, Math.min($("boxes").clientHeight || 600, 2400)); }

/* How many rows there are below the node that is zoomed to. */
function rowsBelow(top) {
	const { kids, depth } = flame.view;
	let most = depth[top];
	const todo = [top];
	while (todo.length) {
		const i = todo.pop();
		most = Math.max(most, depth[i]);
		for (const k of kids[i] || []) if (flame.view.weight[k] * scale() >= THINNEST) todo.push(k);
	}
	return most + 1;
}
function scale() {
	const whole = flame.view.weight[flame.zoom];
	return whole ? flame.width / whole : 0;
}

function fitText(context, text, room) {
	if (context.measureText(text).width <= room) return text;
	let low = 0, high = Math.min(text.length, Math.ceil(room / 3));
	while (low < high) {
		const half = (low + high + 1) >> 1;
		if (context.measureText(text.slice(0, half) + "…").width <= room) low = half;
		else high = half - 1;
	}
	return low ? text.slice(0, low) + "…" : "";
}

function drawFlame() {
	const canvas = $("canvas"), box = $("boxes"), { tree, kids, left, depth, weight } = flame.view;
	const ratio = window.devicePixelRatio || 1, dark = isDark(),
		style = getComputedStyle(document.documentElement);
	flame.width = box.clientWidth;
	$("spacer").style.height = rowsBelow(flame.zoom) * ROW + "px";
	const height = boxesRoom(), top = box.scrollTop;
	canvas.width = flame.width * ratio;
	canvas.height = height * ratio;
	canvas.style.width = flame.width + "px";
	canvas.style.height = height + "px";
	const context = canvas.getContext("2d"), px = scale(), text = style.getPropertyValue("--text"),
		accent = style.getPropertyValue("--accent"),
		onAccent = style.getPropertyValue("--on-accent");
	context.scale(ratio, ratio);
	context.font = "11.5px system-ui, 'DejaVu Sans', sans-serif";
	context.textBaseline = "middle";
	const draw = (i, x, w, faded) => {
		const y = depth[i] * ROW - top;
		if (y < -ROW || y > height) return;
		const hit = flame.matched && tree.fn[i] >= 0 && flame.matched[tree.fn[i]];
		context.globalAlpha = faded || (flame.matched && !hit) ? 0.4 : 1;
		context.fillStyle = hit ? accent : colour(tree.fn[i], dark);
		context.beginPath();
		if (w > 4) context.roundRect(x, y, w - 1, BOX, 2);
		else context.rect(x, y, Math.max(w - (w > 2 ? 0.6 : 0), 0.3), BOX);
		context.fill();
		context.globalAlpha = 1;
		if (i === flame.selected) {
			context.strokeStyle = text;
			context.lineWidth = 2;
			context.strokeRect(x + 1, y + 1, Math.max(w - 3, 1), BOX - 2);
		}
		if (w < 26) return;
		context.fillStyle = hit ? onAccent : dark ? "#f2f0ee" : "#1a1510";
		context.fillText(fitText(context, functionName(tree.fn[i]), w - 10), x + 5, y + BOX / 2 +
			0.5);
	};
	for (const i of ancestors(flame.zoom)) draw(i, 0, flame.width, true);
	const todo = [flame.zoom];
	while (todo.length) {
		const i = todo.pop(), w = weight[i] * px;
		if (w < THINNEST || depth[i] * ROW > top + height) continue;
		draw(i, (left[i] - left[flame.zoom]) * px, w, false);
		for (const k of kids[i] || []) todo.push(k);
	}
	if (!weight[0]) {
		context.fillStyle = style.getPropertyValue("--dim");
		context.fillText("Nothing: no allocation counts here. Another measure may show some.", 8,
			ROW * 1.5);
	}
}

function flameAt(x, y) {
	const { kids, left, weight, depth } = flame.view,
		row = Math.floor((y + $("boxes").scrollTop) / ROW);
	if (row < depth[flame.zoom]) return ancestors(flame.zoom)[row] ?? -1;
	let at = flame.zoom;
	const value = left[at] + x / scale();
	while (depth[at] < row) {
		const next = (kids[at] || []).find((k) => value >= left[k] && value < left[k] + weight[k]);
		if (next === undefined) return -1;
		at = next;
	}
	return depth[at] === row ? at : -1;
}

function describe(i) {
	const { tree, weight } = flame.view, f = tree.fn[i], parts = [];
	const where = [moduleName(f), source(f)].filter(Boolean).join(" · ");
	parts.push(where);
	parts.push(`${bytes(tree.bytes[i])} (${exact(tree.bytes[i])}) in ${blocks(tree.count[i])}`);
	parts.push(`${share(weight[i], weight[0])} of all` +
		(flame.zoom ? `, ${share(weight[i], weight[flame.zoom])} of what is shown` : ""));
	if (f === OTHERS) parts.unshift("too small each to be in this file");
	return parts.filter(Boolean);
}

function showTip(event, name, lines) {
	const tip = $("tip");
	tip.replaceChildren(element("b", {}, middle(name, 500)),
		...lines.map((line) => element("div", {}, line)));
	tip.hidden = false;
	const box = tip.getBoundingClientRect();
	tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
	tip.style.top = (event.clientY + 18 + box.height > innerHeight ?
		event.clientY - box.height - 10 : event.clientY + 18) + "px";
}

function tellSelected() {
	const i = flame.selected;
	if (i < 0) $("details").replaceChildren();
	else $("details").replaceChildren(element("b", {}, functionName(flame.view.tree.fn[i])), " ",
		describe(i).join(", "));
}

function selectBox(i) {
	flame.selected = i;
	tellSelected();
	if (i >= 0) {
		const y = flame.view.depth[i] * ROW, box = $("boxes");
		if (y < box.scrollTop) box.scrollTop = y;
		else if (y + ROW > box.scrollTop + box.clientHeight) box.scrollTop = y +
			ROW - box.clientHeight;
	}
	drawFlame();
}

function zoomTo(i) {
	flame.zoom = i;
	$("reset").disabled = !i;
	drawFlame();
	tellSelected();
	tellMatched();
}

function moveSelection(key) {
	const { tree, kids, weight } = flame.view, i = flame.selected;
	const visible = (k) => weight[k] * scale() >= THINNEST;
	let to;
	if (i < 0) to = flame.zoom;
	else if (key === "ArrowUp") to = Math.max(tree.parent[i], 0);
	else if (key === "ArrowDown") to = (kids[i] || []).find(visible);
	else if (i) {
		const list = kids[tree.parent[i]].filter(visible);
		to = list[list.indexOf(i) + (key === "ArrowLeft" ? -1 : 1)];
	}
	if (to !== undefined) selectBox(to);
}

/* A function inside itself counts once. */
function tellMatched() {
	if (!flame.matched) {
		$("matched").textContent = "";
		return;
	}
	const { tree, kids, weight } = flame.view, is = (i) => tree.fn[i] >= 0 &&
		flame.matched[tree.fn[i]];
	let sum = 0;
	if (ancestors(flame.zoom).some(is)) sum = weight[flame.zoom];
	else {
		const todo = [flame.zoom];
		while (todo.length) {
			const i = todo.pop();
			if (is(i)) sum += weight[i];
			else for (const k of kids[i] || []) todo.push(k);
		}
	}
	$("matched").textContent = sum ?
		`matched ${share(sum, weight[flame.zoom])}: ${amount(sum, flame.view.unit)}` : "no match";
}

function searchFlame() {
	const input = $("search"), text = state.q;
	input.setAttribute("aria-invalid", "false");
	flame.matched = null;
	if (text) {
		try {
			const expression = new RegExp(text, text === text.toLowerCase() ? "i" : "");
			flame.matched = data.functions.map((f, i) => expression.test(f[0]) ||
				expression.test(moduleName(i)) || expression.test(source(i)));
		} catch (error) {
			input.setAttribute("aria-invalid", "true");
			drawFlame();
			$("matched").textContent = "not a regular expression";
			return;
		}
	}
	drawFlame();
	tellMatched();
}

function showFlame() {
	flame.view = flameOf(state.measure, state.way, state.unit);
	flame.zoom = 0;
	flame.selected = -1;
	const { tree } = flame.view;
	$("flame-say").textContent = `${MEASURE_WORDS[state.measure]}: ${bytes(tree.bytes[0])} in ` +
		`${blocks(tree.count[0])}`;
	$("details").replaceChildren();
	$("reset").disabled = true;
	$("boxes").scrollTop = 0;
	/* The box is as high as what is in it, up to its limit. */
	flame.width = $("boxes").clientWidth;
	$("spacer").style.height = (flame.view.deepest + 1) * ROW + "px";
	searchFlame();
}

function startFlame() {
	const choices = $("flame-choices"), box = $("boxes"), canvas = $("canvas");
	choice(choices, "What counts", "measure", data.tree.weights.map((w) => [w.name, w.name]),
		() => { showFlame(); showTable(); });
	choice(choices, "Unit", "unit", [["bytes", "bytes"], ["count", "blocks"]], showFlame);
	choice(choices, "Direction", "way", [["down", "top-down"], ["up", "bottom-up"]], showFlame);
	const here = (event) => {
		const r = canvas.getBoundingClientRect();
		return flameAt(event.clientX - r.left, event.clientY - r.top);
	};
	canvas.addEventListener("mousemove", (event) => {
		const i = here(event);
		if (i < 0) $("tip").hidden = true;
		else showTip(event, functionName(flame.view.tree.fn[i]), describe(i));
	});
	canvas.addEventListener("mouseleave", () => { $("tip").hidden = true; });
	canvas.addEventListener("click", (event) => {
		const i = here(event);
		if (i < 0) return;
		selectBox(i);
		zoomTo(i);
	});
	box.addEventListener("scroll", () => requestAnimationFrame(drawFlame));
	box.addEventListener("keydown", (event) => {
		if (/^Arrow/.test(event.key)) moveSelection(event.key);
		else if (event.key === "Enter" && flame.selected >= 0) zoomTo(flame.selected);
		else return;
		event.preventDefault();
	});
	$("reset").addEventListener("click", () => zoomTo(0));
	$("search").value = state.q;
	$("search").addEventListener("input", () => {
		state.q = $("search").value;
		saveState();
		searchFlame();
	});
	document.addEventListener("keydown", (event) => {
		const typing = event.target.localName === "input" && event.target.type === "search";
		if (event.key === "Escape") {
			if (typing || (!flame.zoom && state.q)) { $("search").value = state.q = ""; saveState();
				searchFlame(); }
			else if (flame.zoom) zoomTo(0);
			else selectBox(-1);
		} else if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
			event.preventDefault();
			$("search").focus();
		}
	});
	const notes = [];
	if (data.tree.kept < data.tree.all)
		notes.push(
			`Of ${grouped(data.tree.all)} nodes of the call tree the ` +
				`${grouped(data.tree.kept)} heaviest are in this file; each of the others ` +
				`is at most ${(data.tree.cut * 100).toPrecision(2)} % by any measure, and ` +
				`counts as “(smaller ones)”.`);
	notes.push(`Bottom-up shows up to ${CALLERS_MOST} callers.`);
	$("flame-note").textContent = notes.join(" ");
}
