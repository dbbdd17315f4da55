/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Call trees: what is embedded is one tree with the weights of every measure where stacks end.
 * From it come trees in both directions, each made when it is first looked at. */
const CALLERS_MOST = 200; /* levels of a bottom-up tree */
const trees = new Map();

const stored = (() => {
	const up = data.tree.up, count = up.length + 1;
	const parent = new Int32Array(count), fn = new Int32Array(count);
	parent[0] = -1;
	fn[0] = ALL;
	for (let i = 1; i < count; i++) {
		parent[i] = i - up[i - 1];
		fn[i] = data.tree.functions[i - 1];
	}
	return { parent, fn, count };
})();

function ownWeights(measure) {
	const from = data.tree.weights.find((w) => w.name === measure);
	const own = { bytes: new Float64Array(stored.count), count: new Float64Array(stored.count) };
	let at = 0;
	from.at.forEach((step, k) => {
		at += step;
		own.bytes[at] = from.bytes[k];
		own.count[at] = from.count[k];
	});
	return own;
}

function topDown(measure) {
	const own = ownWeights(measure), tree = { parent: stored.parent, fn: stored.fn,
		bytes: own.bytes.slice(), count: own.count.slice(), own };
	/* Parents come first, but what stands for others comes last: by depth, the deepest first. */
	const order = Array.from(stored.parent.keys()), depth = new Int32Array(stored.count);
	for (let i = 1; i < stored.count; i++) depth[i] = depth[stored.parent[i]] + 1;
	order.sort((a, b) => depth[b] - depth[a]);
	for (const i of order)
		if (i) {
			tree.bytes[stored.parent[i]] += tree.bytes[i];
			tree.count[stored.parent[i]] += tree.count[i];
		}
	return tree;
}

function bottomUp(measure) {
	const own = ownWeights(measure), children = new Map(), width = data.functions.length + 2;
	const tree = { parent: [-1], fn: [ALL], bytes: [0], count: [0] };
	const child = (at, f) => {
		const key = at * width + f + 1;
		let id = children.get(key);
		if (id === undefined) {
			id = tree.parent.length;
			children.set(key, id);
			tree.parent.push(at);
			tree.fn.push(f);
			tree.bytes.push(0);
			tree.count.push(0);
		}
		return id;
	};
	for (let i = 0; i < stored.count; i++) {
		if (!own.count[i]) continue;
		let at = 0, level = 0;
		for (let node = i; ; node = stored.parent[node]) {
			tree.bytes[at] += own.bytes[i];
			tree.count[at] += own.count[i];
			if (node <= 0 || ++level > CALLERS_MOST) break;
			at = child(at, stored.fn[node]);
		}
	}
	return tree;
}

/* Children of each node, the heaviest first, and where its box begins in units of the weight. */
function layOut(tree, unit) {
	const weight = tree[unit], count = tree.parent.length;
	const kids = Array.from({ length: count }, () => null), left = new Float64Array(count),
		depth = new Int32Array(count);
	let deepest = 0;
	for (let i = 1; i < count; i++)
		if (weight[i] > 0) (kids[tree.parent[i]] ||= []).push(i);
	const todo = [0];
	while (todo.length) {
		const i = todo.pop();
		if (!kids[i]) continue;
		kids[i].sort((a, b) => weight[b] - weight[a] || a - b);
		let x = left[i];
		for (const k of kids[i]) {
			left[k] = x;
			depth[k] = depth[i] + 1;
			deepest = Math.max(deepest, depth[k]);
			x += weight[k];
			todo.push(k);
		}
	}
	return { tree, unit, weight, kids, left, depth, deepest };
}

function flameOf(measure, way, unit) {
	const key = measure + way;
	if (!trees.has(key)) trees.set(key, way === "down" ? topDown(measure) : bottomUp(measure));
	if (!trees.has(key + unit)) trees.set(key + unit, layOut(trees.get(key), unit));
	return trees.get(key + unit);
}

/* What each function weighs wherever it stands; inside itself it counts once. */
function functionTotals(measure) {
	const { tree, kids } = flameOf(measure, "down", "count"), totals = new Map(), open = new Map(),
		todo = [0];
	while (todo.length) {
		const i = todo.pop();
		if (i < 0) { /* its subtree is done */
			open.set(tree.fn[~i], open.get(tree.fn[~i]) - 1);
			continue;
		}
		const f = tree.fn[i];
		if (f >= 0) {
			if (!totals.has(f)) totals.set(f, { f, bytes: 0, count: 0, own: 0, ownCount: 0 });
			const t = totals.get(f);
			t.own += tree.own.bytes[i];
			t.ownCount += tree.own.count[i];
			if (!open.get(f)) {
				t.bytes += tree.bytes[i];
				t.count += tree.count[i];
			}
			open.set(f, (open.get(f) || 0) + 1);
			todo.push(~i);
		}
		for (const k of kids[i] || []) todo.push(k);
	}
	return [...totals.values()];
}
