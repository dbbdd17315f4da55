// SPDX-License-Identifier: MIT OR Apache-2.0
// What people come for, from the first screen on: each task is a few steps that are done with the
// mouse and once more with keys alone.  test_page_tasks.py starts it and knows the answers.
import { close, given, open, settled, shot, walk } from "./page_browser.mjs";

const TABS = 150; /* that a person would press at most, with patience */

/* A step does one thing: `mouse` is one click or one drag, `keys` the same without a mouse. */
const named = (role, name) => (page) => page.getByRole(role, { name, exact: true }).first();
const press = (find) => ({
	mouse: (page) => find(page).click(),
	async keys(page) {
		await reach(page, find(page));
		await page.keyboard.press("Enter");
	},
});
const link = (name) => press(named("link", name));
const button = (name) => press(named("button", name));
const heading = (card, name) => press((page) =>
	page.locator(`[data-card=${card}] [role=columnheader] button`, { hasText: name }));

const has = (page, card, name) =>
	page.locator(`[data-card=${card}] .table-row`, { hasText: name }).first();
const row = (card, name) => ({
	mouse: (page) => has(page, card, name).click({ position: { x: 30, y: 12 } }),
	async keys(page) {
		await reach(page, page.locator(`[data-card=${card}] [role=grid]`));
		for (let i = 0; i < 20; i++) {
			await page.keyboard.press("ArrowDown");
			if (await has(page, card, name).evaluate(
				(r) => r.matches("[aria-selected=true]"))) break;
		}
		await page.keyboard.press("Enter");
	},
});

/* The timeline: shares of the run. */
const plot = (page) => page.locator("[data-card=strip] .u-over");
const onPlot = async (page, share) => {
	const box = await plot(page).boundingBox();
	return [box.x + box.width * share, box.y + box.height / 2];
};
const moment = (share) => ({
	mouse: async (page) => page.mouse.click(...(await onPlot(page, share))),
	async keys(page) {
		await reach(page, page.locator(".strip[role=slider]"));
		await page.keyboard.press("Home");
		for (let i = 0; i < Math.round(share * 10); i++) await page.keyboard.press("PageUp");
	},
});
const range = (from, to) => ({
	async mouse(page) {
		await page.mouse.move(...(await onPlot(page, from)));
		await page.mouse.down();
		await page.mouse.move(...(await onPlot(page, (from + to) / 2)), { steps: 3 });
		await page.mouse.move(...(await onPlot(page, to)), { steps: 3 });
		await page.mouse.up();
	},
	async keys(page) {
		await moment(from).keys(page);
		for (let i = 0; i < Math.round((to - from) * 10); i++)
			await page.keyboard.press("Shift+PageUp");
	},
});

/* The upper part of the lowest area, near the end. */
const place = {
	async mouse(page) {
		const area = page.locator(".area-picture").last();
		await area.scrollIntoViewIfNeeded();
		const box = await area.boundingBox();
		await page.mouse.click(box.x + box.width * 0.9, box.y + box.height * 0.1);
	},
	async keys(page) {
		await reach(page, page.locator(".area-picture").last());
		for (let i = 0; i < 10; i++) await page.keyboard.press("Shift+ArrowUp");
		for (let i = 0; i < 10; i++) await page.keyboard.press("Shift+ArrowRight");
		for (let i = 0; i < 6; i++) await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Enter");
	},
};

/* Tab until the focus is there, as long as a person would. */
async function reach(page, locator) {
	await locator.waitFor();
	for (let i = 0; i < TABS; i++) {
		if (await locator.evaluate((e) => e === document.activeElement)) return;
		await page.keyboard.press("Tab");
	}
	throw new Error(`${TABS} times Tab do not lead to ${locator}`);
}

/* name: what is done, and where the answer stands. */
const TASKS = {
	leak: [[link("Leaks")], ".table-row"],
	peak: [[row("who", "load_catalogue")], "main"],
	grew: [[range(0.2, 0.5), link("Compare…")], ".table-row"],
	fragments: [[link("Address space"), place], "[data-card=holders] .table-row"],
	thread: [[link("Threads"), heading("threads", "blocks")], ".table-row"],
	builds: [[link("Compare…")], ".table-row"],
	temporary: [[button("temporary")], "[data-card=who] .table-row"],
	line: [[link("Source"), row("sources", "tasks.c")], "main"],
	callers: [[link("Functions"), row("functions", "remember_visitor")], "main"],
	moment: [[moment(0.9), link("Flame graph"), button("table")], "main"],
	sizes: [[link("Histograms")], "main"],
};

async function done(name, how) {
	const [steps, where] = TASKS[name];
	const page = await open(`#/overview/${given.id}`, { width: given.width, scheme: given.scheme });
	await settled(page);
	for (const step of steps) {
		await step[how](page);
		await settled(page);
	}
	await page.locator(where).first().waitFor();
	const answer = await page.locator(where).first().innerText();
	await shot(page, `task-${name}-${how}`, false);
	await close(page);
	return answer;
}

await walk(Object.fromEntries(Object.keys(TASKS).map((name) => [name, async (is) => {
	is.steps = TASKS[name][0].length;
	is.mouse = await done(name, "mouse");
	is.keys = await done(name, "keys");
}])));
