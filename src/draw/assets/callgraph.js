/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Makes the picture of src/draw/callgraph.c move and zoom.
 *
 *   drag, arrows     move                  + - wheel    zoom
 *   0                the whole             point, Tab   what a function calls, and who calls it
 *   Esc              let go of a function that was clicked on */
(function () {
	"use strict";
	var TOP = 66, MARGIN = 16, READABLE = 0.75, NS = "http://www.w3.org/2000/svg",
		XHTML = "http://www.w3.org/1999/xhtml";
	var svg = document.documentElement, graph = document.getElementById("graph"),
		legend = document.getElementById("legend");
	var width = +graph.dataset.width, height = +graph.dataset.height;
	var nodes = Array.prototype.slice.call(document.querySelectorAll("#boxes > g"));
	var links = Array.prototype.slice.call(document.querySelectorAll("[data-from]"));
	var said = legend.textContent, view = { x: 0, y: 0, scale: 1 }, room = { width: 0, height: 0 };
	var held = null, kept = -1, touched = false, veil, frame;

	function show() {
		graph.setAttribute("transform", "translate(" + view.x + " " + view.y + ") scale(" +
			view.scale + ")");
	}
	function zoom(by, x, y) {
		var scale = Math.min(8, Math.max(0.02, view.scale * by));
		view.x = x - (x - view.x) * scale / view.scale;
		view.y = y - (y - view.y) * scale / view.scale;
		view.scale = scale;
		touched = true;
		show();
	}
	function fit(least) {
		var across = (room.width - 2 * MARGIN) / Math.max(width, 1),
			down = (room.height - TOP - MARGIN) / Math.max(height, 1);
		view.scale = Math.min(1, Math.max(least, Math.min(across, least ? across : down)));
		view.x = (room.width - width * view.scale) / 2;
		view.y = TOP;
		/* Of a picture that is too wide to be read as a whole: where most of it passes. */
		if (width * view.scale > room.width - 2 * MARGIN && least && nodes.length) {
			var heavy = nodes[0].querySelector("rect");
			var middle = (+heavy.getAttribute("x") + heavy.getAttribute("width") / 2) * view.scale;
			view.x = Math.min(MARGIN, Math.max(room.width - MARGIN - width * view.scale,
				room.width / 2 - middle));
		}
		show();
	}
	function resize() {
		room = { width: window.innerWidth || 1200, height: window.innerHeight || 800 };
		svg.setAttribute("width", room.width);
		svg.setAttribute("height", room.height);
		svg.setAttribute("viewBox", "0 0 " + room.width + " " + room.height);
		veil.setAttribute("width", room.width);
		frame.setAttribute("x", room.width - 180 - MARGIN);
		if (!touched) fit(READABLE);
	}

	/* A function with its callers and what it calls; -1: all. */
	function choose(i) {
		svg.classList.toggle("chosen", i >= 0);
		nodes.concat(links).forEach(function (e) { e.classList.remove("near"); });
		legend.textContent = i < 0 ? said : nodes[i].querySelector("title").textContent.replace(
			/\n/g, "  ·  ");
		if (i < 0) return;
		nodes[i].classList.add("near");
		links.forEach(function (e) {
			var from = +e.dataset.from, to = +e.dataset.to;
			if (from !== i && to !== i) return;
			e.classList.add("near");
			nodes[from === i ? to : from].classList.add("near");
		});
	}
	function index(target) {
		var g = target.closest ? target.closest("#boxes > g") : null;
		return g ? +g.dataset.node : -1;
	}

	function keyed(event) {
		var steps = { ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 80],
			ArrowDown: [0, -80] }[event.key];
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		if (steps) { view.x += steps[0]; view.y += steps[1]; touched = true; show(); }
		else if (event.key === "+" || event.key === "=") zoom(1.25, room.width / 2,
			room.height / 2);
		else if (event.key === "-") zoom(0.8, room.width / 2, room.height / 2);
		else if (event.key === "0") { touched = true; fit(0); }
		else if (event.key === "Escape") { kept = -1; choose(-1); }
		else return;
		event.preventDefault();
	}

	function button(bar, id, text, label, pressed) {
		var made = document.createElementNS(XHTML, "button");
		made.setAttribute("id", id);
		made.setAttribute("type", "button");
		made.setAttribute("aria-label", label);
		made.setAttribute("title", label);
		made.textContent = text;
		made.addEventListener("click", pressed);
		bar.appendChild(made);
	}
	function build() {
		var head = document.getElementById("head");
		veil = document.createElementNS(NS, "rect");
		veil.setAttribute("id", "veil");
		veil.setAttribute("height", TOP - 10);
		head.insertBefore(veil, head.firstChild);
		frame = document.createElementNS(NS, "foreignObject");
		frame.setAttribute("y", 2);
		frame.setAttribute("width", 180);
		frame.setAttribute("height", 42);
		var bar = document.createElementNS(XHTML, "div");
		bar.setAttribute("class", "controls");
		button(bar, "closer", "+", "zoom in",
			function () { zoom(1.25, room.width / 2, room.height / 2); });
		button(bar, "farther", "−", "zoom out",
			function () { zoom(0.8, room.width / 2, room.height / 2); });
		button(bar, "whole", "whole", "the whole graph", function () { touched = true; fit(0); });
		frame.appendChild(bar);
		head.appendChild(frame);
		svg.setAttribute("tabindex", "0");
		svg.setAttribute("class", "live");
		svg.setAttribute("aria-label", document.getElementById("heading").textContent +
			". Arrows move the graph, plus and minus zoom, 0 shows the whole, Tab goes " +
				"from function to function.");
		legend.setAttribute("role", "status");
		legend.setAttribute("aria-live", "polite");
		nodes.forEach(function (g, i) {
			g.setAttribute("tabindex", "0");
			g.setAttribute("role", "img");
			g.addEventListener("focus", function () { choose(i); });
			g.addEventListener("blur", function () { choose(kept); });
		});
	}

	build();
	svg.addEventListener("keydown", keyed);
	svg.addEventListener("wheel", function (event) {
		event.preventDefault();
		zoom(Math.pow(1.0015, -event.deltaY * (event.deltaMode ? 30 : 1)), event.clientX,
			event.clientY);
	}, { passive: false });
	svg.addEventListener("pointerdown", function (event) {
		if (event.button || (event.target.closest && event.target.closest("foreignObject"))) return;
		held = { x: event.clientX - view.x, y: event.clientY - view.y,
			from: [event.clientX, event.clientY], moved: false };
	});
	svg.addEventListener("pointermove", function (event) {
		if (!held) return;
		if (!held.moved && Math.hypot(event.clientX - held.from[0],
			event.clientY - held.from[1]) < 4) return;
		if (!held.moved) svg.setPointerCapture(event.pointerId);
		held.moved = touched = true;
		svg.classList.add("moved");
		view.x = event.clientX - held.x;
		view.y = event.clientY - held.y;
		show();
	});
	function let_go(event) {
		if (held && !held.moved && event.type === "pointerup") {
			kept = index(event.target);
			choose(kept);
		}
		held = null;
		svg.classList.remove("moved");
	}
	svg.addEventListener("pointerup", let_go);
	svg.addEventListener("pointercancel", let_go);
	svg.addEventListener("mouseover", function (event) {
		if (!held && kept < 0) choose(index(event.target));
	});
	window.addEventListener("resize", resize);
	resize();
})();
