/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Makes the picture of src/draw/flame_draw.c zoom and search.  Its measures are those of that file.
 *
 *   click, Enter     zoom to a box        Esc       the whole again, or no more search
 *   arrows           go from box to box   /         search, by a regular expression */
(function () {
	"use strict";
	var TOP = 70, ROW = 17, MARGIN = 10, CHARACTER = 6.65, GAP = 0.5, LABEL = 3, NARROWEST = 0.1;
	var NS = "http://www.w3.org/2000/svg", XHTML = "http://www.w3.org/1999/xhtml";
	var svg = document.documentElement;
	var table = JSON.parse(document.getElementById("table").textContent);
	var groups = Array.prototype.slice.call(document.getElementById("boxes").children);
	var parents = table.parents, count = parents.length;
	var weights = table.by_count ? table.counts : table.bytes;
	var height = +svg.getAttribute("height"), width = 0;
	var left = new Float64Array(count), depth = new Int32Array(count);
	var numbers = new Map(groups.map(function (g, i) { return [g, i]; }));
	var children = [], shown = [], matched = null;
	var zoomed = 0, selected = -1, status, input, result, reset, frame;

	/* What cannot be seen is shown by another character, as in the picture. */
	table.functions.forEach(function (f) {
		f[0] = f[0].replace(/[\u0000-\u001f]/g,
			function (c) { return String.fromCharCode(0x2400 + c.charCodeAt(0));
			}).replace(/\u007f/g, "\u2421");
	});
	function name(i) { return i ? table.functions[table.names[i] - 1][0] : "all"; }
	function where(i) { return i ? table.functions[table.names[i] - 1][1] : ""; }
	function grouped(n) { return String(n).replace(/\B(?=(\d{3})+$)/g, ","); }
	function size(n) {
		var units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"], u = 0;
		while (n >= 1024 && u < units.length - 1) { n /= 1024; u++; }
		return (u === 0 ? n : n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n.toFixed(2)) +
			" " + units[u];
	}
	function share(part, whole) {
		var percent = whole ? part / whole * 100 : 0;
		return (percent > 0 && percent < 0.1 ? "<0.1" : percent.toFixed(1)) + " %";
	}
	function middle(text, columns) {
		if (text.length <= columns) return text;
		var head = Math.floor(columns / 2);
		return text.slice(0, head) + "…" + text.slice(text.length - (columns - 1 - head));
	}

	/* Children follow each other, the heaviest first, from their parent's left edge on. */
	function measure() {
		var next = new Float64Array(count);
		for (var i = 0; i < count; i++) {
			children.push([]);
			if (!i) continue;
			var p = parents[i];
			depth[i] = depth[p] + 1;
			left[i] = left[p] + next[p];
			next[p] += weights[i];
			children[p].push(i);
		}
	}

	function contains(outer, inner) {
		for (; inner > 0; inner = parents[inner]) if (inner === outer) return true;
		return inner === outer;
	}

	function label(g, text, x, y, room) {
		var element = g.querySelector("text"), columns = Math.floor((room - 6) / CHARACTER);
		if (columns < LABEL) {
			if (element) element.remove();
			return;
		}
		if (!element) {
			element = document.createElementNS(NS, "text");
			g.insertBefore(element, g.querySelector("title"));
		}
		element.setAttribute("x", x + 3);
		element.setAttribute("y", y + 12);
		element.textContent = text.length > columns ? text.slice(0, columns - 1) + "…" : text;
	}

	/* Callers of the box that is zoomed to fill the width, what it calls is scaled to it, and the
	 * rest is hidden. */
	function draw() {
		var scale = weights[zoomed] ? (width - 2 * MARGIN) / weights[zoomed] : 0;
		var above = {};
		for (var a = zoomed; a > 0; a = parents[a]) above[parents[a]] = true;
		for (var i = 0; i < count; i++) {
			var g = groups[i], outside = above[i] === true;
			var x = outside ? MARGIN : MARGIN + (left[i] - left[zoomed]) * scale;
			var w = outside ? width - 2 * MARGIN : i || !zoomed ? weights[i] * scale : 0;
			if (!count || !weights[0]) w = width - 2 * MARGIN;
			shown[i] = outside || (w >= NARROWEST && x + w > MARGIN + 1e-6 &&
				x < width - MARGIN - 1e-6);
			if (!outside && shown[i] && zoomed) shown[i] = i === zoomed ||
				(i > 0 && shown[parents[i]] && !above[parents[i]]);
			g.style.display = shown[i] ? "" : "none";
			if (!shown[i]) continue;
			var rect = g.querySelector("rect"), y = TOP + depth[i] * ROW;
			rect.setAttribute("x", x);
			rect.setAttribute("width", w > 1.5 ? w - GAP : w);
			g.classList.toggle("outside", outside);
			label(g, name(i), x, y, w);
		}
		reset.disabled = !zoomed;
		report();
	}

	function signed(n, text) { return (n < 0 ? "-" : "+") + text(Math.abs(n)); }
	function figures(i) {
		if (table.bytes_added)
			return signed(table.bytes_added[i], size) + " (" + signed(table.bytes_added[i],
				grouped) + " bytes), " +
				signed(table.counts_added[i], grouped) + " blocks; " +
					share(weights[i], weights[0]) + " of what changed";
		return size(table.bytes[i]) + " (" + grouped(table.bytes[i]) + " bytes) in " +
			grouped(table.counts[i]) +
			(table.counts[i] === 1 ? " block, " : " blocks, ") + share(weights[i], weights[0]);
	}

	function describe(i) {
		return middle(name(i), 400) + where(i) + "  ·  " + figures(i) +
			(zoomed && contains(zoomed, i) ? ", " + share(weights[i], weights[zoomed]) +
				" of what is shown" : "");
	}

	function say(text) {
		status.textContent = middle(text, Math.max(20, Math.floor((width - 2 * MARGIN) / 6)));
	}

	/* A function inside itself counts once. */
	function report() {
		if (!matched) {
			result.textContent = "";
			return;
		}
		var sum = 0, boxes = 0, inside = new Uint8Array(count);
		for (var i = 0; i < count; i++) {
			if (i && inside[parents[i]]) inside[i] = 1;
			if (!matched[i]) continue;
			boxes++;
			if (!inside[i] && contains(zoomed, i)) sum += weights[i];
			inside[i] = 1;
		}
		for (var up = parents[zoomed], at = zoomed; at > 0; at = up, up = parents[at])
			if (matched[up]) sum = weights[zoomed];
		result.textContent = boxes ? "matched " + share(sum, weights[zoomed]) + " in " +
			grouped(boxes) +
			(boxes === 1 ? " box" : " boxes") : "no match";
	}

	function search(text) {
		var expression = null;
		input.setAttribute("aria-invalid", "false");
		if (text) {
			try {
				expression = new RegExp(text, text === text.toLowerCase() ? "i" : "");
			} catch (error) {
				input.setAttribute("aria-invalid", "true");
				result.textContent = "not a regular expression";
				return;
			}
		}
		matched = expression ?
			groups.map(function (g, i) { return i > 0 && expression.test(name(i) + where(i)); }) :
			null;
		groups.forEach(function (g, i) { g.classList.toggle("matched", !!matched && matched[i]); });
		report();
	}

	function zoom(i) {
		zoomed = i;
		draw();
		if (selected >= 0) say(describe(selected));
	}

	function select(i) {
		if (selected >= 0) groups[selected].classList.remove("selected");
		selected = i;
		if (i < 0) {
			say("");
			return;
		}
		groups[i].classList.add("selected");
		say(describe(i));
		groups[i].querySelector("rect").scrollIntoView({ block: "nearest", inline: "nearest" });
	}

	function sibling(i, step) {
		var list = i ? children[parents[i]].filter(function (c) { return shown[c]; }) : [0];
		return list[list.indexOf(i) + step];
	}

	function move(key) {
		var i = Math.max(selected, 0), to;
		if (selected < 0) to = zoomed;
		else if (key === "ArrowUp") to = i ? parents[i] : i;
		else if (key === "ArrowDown") to = children[i].filter(function (c) { return shown[c]; })[0];
		else to = sibling(i, key === "ArrowLeft" ? -1 : 1);
		if (to !== undefined) select(to);
	}

	function keyed(event) {
		var typing = event.target === input;
		if (event.key === "Escape") {
			if (typing && input.value) { input.value = ""; search(""); }
			else if (typing) svg.focus();
			else if (zoomed) zoom(0);
			else if (matched) { input.value = ""; search(""); }
			else select(-1);
		} else if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
		else if (event.key === "/") input.focus();
		else if (/^Arrow/.test(event.key)) move(event.key);
		else if (event.key === "Enter" && selected >= 0 &&
			event.target.localName !== "button") zoom(selected);
		else return;
		event.preventDefault();
	}

	function index(target) {
		var g = target.closest ? target.closest("#boxes > g") : null;
		return g ? numbers.get(g) : -1;
	}

	function html(tag, parent, attributes) {
		var element = document.createElementNS(XHTML, tag);
		for (var key in attributes) element.setAttribute(key, attributes[key]);
		parent.appendChild(element);
		return element;
	}

	function build() {
		frame = document.createElementNS(NS, "foreignObject");
		frame.setAttribute("y", 2);
		frame.setAttribute("height", 42);
		var bar = html("div", frame, { "class": "controls" });
		result = html("span", bar, { id: "matched", role: "status" });
		input = html("input", bar,
			{ id: "search", type: "search", placeholder: "search: regular expression",
			"aria-label": "search, by a regular expression" });
		reset = html("button", bar, { id: "reset", type: "button" });
		reset.textContent = "reset zoom";
		svg.appendChild(frame);
		status = document.createElementNS(NS, "text");
		status.setAttribute("id", "details");
		status.setAttribute("x", MARGIN);
		status.setAttribute("y", 61);
		status.setAttribute("font-family", "sans-serif");
		status.setAttribute("role", "status");
		status.setAttribute("aria-live", "polite");
		svg.appendChild(status);
		svg.setAttribute("tabindex", "0");
		svg.setAttribute("aria-label", document.getElementById("heading").textContent +
			". Arrows go from box to box, Enter zooms, Escape shows the whole, slash searches.");
		svg.setAttribute("class", "live");
	}

	function fit() {
		width = Math.max(600, window.innerWidth ? document.documentElement.clientWidth ||
			window.innerWidth : 1200);
		svg.setAttribute("width", width);
		svg.setAttribute("viewBox", "0 0 " + width + " " + height);
		var room = Math.min(560, width / 2);
		frame.setAttribute("x", width - MARGIN - room);
		frame.setAttribute("width", room);
		draw();
	}

	measure();
	build();
	window.addEventListener("resize", fit);
	svg.addEventListener("keydown", keyed);
	input.addEventListener("input", function () { search(input.value); });
	reset.addEventListener("click", function () { zoom(0); });
	svg.addEventListener("click", function (event) {
		var i = index(event.target);
		if (i >= 0) { select(i); zoom(i); }
	});
	svg.addEventListener("mouseover", function (event) {
		var i = index(event.target);
		if (i >= 0) say(describe(i));
		else if (selected >= 0) say(describe(selected));
	});
	fit();
})();
