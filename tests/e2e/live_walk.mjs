// SPDX-License-Identifier: MIT OR Apache-2.0
// The page of a running program: what it shows, what its buttons do, and what it says when things
// go wrong.  test_live_page.py starts the programs and says what should have been seen; meanwhile
// it does what this asks it for (`given.hand`: a line for the program, and the program's answer).
import { axe, boxes, close, given, hash, open, shot, text, texts, walk } from "./page_browser.mjs";

const hand = async (line, who = "") =>
	(await fetch(`${given.hand}/${who}?${encodeURIComponent(line)}`)).text();
const number = async (name) => Number((await hand(`read ${name}`)).split(" ")[1]);
const gauge = async (page, name) =>
	Number(await page.locator(`[data-gauge=${name}] .figure-value`).getAttribute("data-value"));
const turn = (page) => page.locator(".live-view").getAttribute("data-number").then(Number);
const said = (page, name) => page.locator(`[data-control="${name}"] .live-said`);
/* The answer of a control, when it is there. */
async function answer(page, name) {
	await page.waitForFunction(
		(n) => !["", "…"].includes(
		document.querySelector(`[data-control="${n}"] .live-said`).textContent), name);
	return said(page, name).innerText();
}
const untilGauge = (page, name, least, most) => page.waitForFunction(([n, a, b]) => {
	const value = Number(document.querySelector(`[data-gauge=${n}] .figure-value`).dataset.value);
	return value >= a && value <= b;
}, [name, least, most]);
const live = async (id = given.id, options = {}) => {
	const page = await open(`#/live/${id}`, options);
	await page.locator("[data-gauge=allocated]").waitFor();
	return page;
};
const MIB = 1 << 20;

await walk({
	async column(is) {
		const page = await open("#/recordings");
		await page.locator(".view-link", { hasText: "Live" }).click();
		await page.locator("[data-gauge=allocated]").waitFor();
		is.current = await text(page, ".view-link[aria-current]");
		is.views = await texts(page, ".view-link");
		is.programs = await texts(page, "#agent option");
		await close(page);
		/* Where no program runs there is no such view. */
		const address = given.address;
		given.address = given.empty;
		const other = await open("#/recordings");
		await other.locator("[data-card=recordings]").waitFor();
		is.without = await texts(other, ".view-link");
		await other.goto(`${given.empty}/#/live`);
		is.nothing = await text(other, "[data-card=no-agent] .empty-title");
		await close(other);
		given.address = address;
	},

	async gauges(is) {
		const page = await live();
		await hand("grow"); /* so that what jemalloc takes while it prints is nothing */
		is.head = await text(page, "[data-card=live] .said");
		for (const name of ["allocated", "active", "resident", "mapped", "retained"]) {
			for (let tries = 0; ; tries++) {
				const [shown, own] = [await gauge(page, name), await number(`stats.${name}`)];
				if (Math.abs(shown - own) <= own / 100) break;
				if (tries === 100) throw new Error(`${name}: ${shown}, the program says ${own}`);
				await page.waitForTimeout(300);
			}
		}
		is.labels = await texts(page, ".figure h2");
		is.values = await texts(page, ".figure-value");
		const [allocated, active] = [await gauge(page, "allocated"), await gauge(page, "active")];
		is.fragmentation = [await gauge(page, "fragmentation"), 1 - allocated / active];
		is.title = await page.locator("[data-gauge=allocated] .number").getAttribute("title");
		is.arenas = await texts(page, "#table-arenas tbody tr");
		await hand("shrink");
		await close(page);
	},

	async moving(is) {
		const page = await live();
		const first = await turn(page);
		await page.waitForFunction(
			(n) => Number(document.querySelector(".live-view").dataset.number) > n + 1, first);
		is.points = await page.locator("[data-card=live-memory] .plot canvas").count();
		await page.locator("#pause").click();
		is.paused = await page.locator("#pause").getAttribute("aria-pressed");
		const still = await turn(page);
		/* The server goes on. */
		for (let later = still; later < still + 3; await page.waitForTimeout(200)) later = (
			await (await fetch(`${given.address}/agents/${given.id}/stats`)).json()).number;
		is.stays = (await turn(page)) === still;
		await page.locator("#pause").click();
		await page.waitForFunction(
			(n) => Number(document.querySelector(".live-view").dataset.number) >= n + 3, still);
		/* Curves and how far back they go are chosen, and in the address. */
		await page.locator("[data-card=live-memory] label", { hasText: "mapped" }).click();
		await page.locator("[data-card=live-memory] .choice button", { hasText: "5 min" }).click();
		await page.locator("#table-arenas .jem-link").first().click();
		is.hash = await hash(page);
		is.arena = await page.locator("#arena").inputValue();
		is.image = await page.locator("[data-card=live-memory] [role=img]").getAttribute(
			"aria-label");
		await page.goBack();
		is.back = await page.locator("#arena").inputValue();
		await close(page);
	},

	async purge(is) {
		const page = await live();
		await hand("grow");
		await hand("shrink");
		await untilGauge(page, "dirty", 60 * MIB, Infinity);
		const before = await gauge(page, "resident");
		await page.locator("[data-control=purge] button").click();
		is.said = await answer(page, "purge");
		await untilGauge(page, "dirty", 0, 5 * MIB);
		await untilGauge(page, "resident", 0, before - 60 * MIB);
		is.resident = [await gauge(page, "resident"), await number("stats.resident")];
		await close(page);
	},

	async switches(is) {
		const page = await live();
		for (const [name, own, on] of [["prof/active", "prof.active", "on"],
			["prof/active", "prof.active", "off"], ["prof/gdump", "prof.gdump", "on"],
			["prof/gdump", "prof.gdump", "off"],
			["prof/thread_active_init", "prof.thread_active_init", "off"],
				["prof/thread_active_init", "prof.thread_active_init", "on"],
				["background_thread", "background_thread", "on"],
				["background_thread", "background_thread", "off"]]) {
			const button = page.locator(`[data-control="${name}"] button`, { hasText: on });
			/* With the keyboard. */
			await button.focus();
			await page.keyboard.press("Enter");
			const told = await answer(page, name), value = await number(own);
			await page.waitForFunction(([n, t]) =>
				[...document.querySelectorAll(`[data-control="${n}"] button`)].find(
				(b) => b.textContent === t).ariaPressed === "true", [name, on]);
			is[`${name} ${on}`] = [told, value];
		}
		await close(page);
	},

	async controls(is) {
		const page = await live();
		const rows = { "prof/reset": { lg_sample: "11" },
			"prof/prefix": { value: `${given.folder}/own` }, "prof/recent": { value: "20" },
			"prof/log/start": {}, "prof/log/stop": {},
			"prof/dump": { path: `${given.folder}/there.heap` }, decay: {},
			dirty_decay_ms: { value: "-1", arena: "0" },
			muzzy_decay_ms: { value: "-1" }, max_background_threads: { value: "3" },
				"mutexes/reset": {}, mallctl: { name: "arena.0.muzzy_decay_ms", value: "-1" } };
		for (const [name, fields] of Object.entries(rows)) {
			for (const [field, value] of Object.entries(fields)) await page.locator(
				`[data-control="${name}"] input[name=${field}]`).fill(value);
			await page.locator(`[data-control="${name}"] button`).click();
			is[name] = await answer(page, name);
		}
		await page.waitForFunction(
			() => document.querySelector(
			"[data-card=live-prof-controls] .said").textContent.includes("2.00 KiB"));
		is.profiling = await text(page, "[data-card=live-prof-controls] .said");
		is.all = await page.$$eval("[data-control]", (all) => all.map((f) => f.dataset.control));
		/* What is wrong is said where it was asked, after Enter in the field too. */
		await page.locator("[data-control='prof/reset'] input").fill("99");
		await page.keyboard.press("Enter");
		await page.locator("[data-control='prof/reset'] .live-said.bad").waitFor();
		is.wrong = [await answer(page, "prof/reset"),
			await said(page, "prof/reset").getAttribute("role")];
		/* What is missing is not sent. */
		await page.locator("[data-control=max_background_threads] input").fill("");
		await page.locator("[data-control=max_background_threads] button").click();
		is.missing = await page.locator("[data-control=max_background_threads] input").evaluate(
			(i) => i.validity.valueMissing);
		await close(page);
	},

	async snapshot(is) {
		const page = await live();
		await page.locator("[data-fetch=snapshot] button").click();
		await page.locator("#summary").waitFor();
		is.hash = await hash(page);
		is.title = await text(page, "[data-card=file] h2");
		is.allocated = await text(page, "#summary [data-fact=allocated] .jem-value");
		await page.goBack();
		await page.locator("[data-gauge=allocated]").waitFor();
		await close(page);
	},

	async dump(is) {
		const page = await live();
		await page.locator("[data-control='prof/active'] button", { hasText: "on" }).click();
		await answer(page, "prof/active");
		await hand("keep 20000");
		await page.locator("[data-fetch=dump] button").click();
		await page.locator(".flame-canvas").waitFor();
		await page.waitForFunction(
			() => document.querySelector(".flame-canvas").boxes?.().length > 2);
		is.hash = await hash(page);
		is.names = (await boxes(page)).map((b) => b.name);
		await close(page);
	},

	async unprofiled(is) {
		const page = await live(given.plain);
		is.said = await text(page, "[data-card=live-prof-controls] .said");
		await page.locator("[data-control='prof/active'] button", { hasText: "on" }).click();
		is.active = await answer(page, "prof/active");
		await page.locator("[data-fetch=dump] button").click();
		await page.locator("[data-fetch=dump] .bad").waitFor();
		is.dump = await text(page, "[data-fetch=dump] .live-said");
		is.hash = await hash(page);
		/* From one program to the other. */
		await page.locator("#agent").selectOption(given.id);
		await page.waitForFunction(
			(pid) => document.querySelector("[data-card=live] .said").textContent.includes(
			`process ${pid} `), given.id);
		await page.locator("[data-gauge=allocated]").waitFor();
		is.other = await hash(page);
		await close(page);
	},

	async looks() {
		for (const [width, scheme] of [[1280, "light"], [2560, "dark"], [700, "light"]]) {
			const page = await live(given.id, { width, height: 1000, scheme });
			await page.locator("[data-control=purge] button").click();
			await answer(page, "purge");
			await shot(page, `live-${width}`);
			if (width > 1000) await axe(page, `live-${width}`);
			await close(page);
		}
	},

	async death(is) {
		const page = await live(given.plain);
		await hand("", "kill");
		await page.locator("[data-card=live] .failure").waitFor();
		is.said = await text(page, "[data-card=live] .failure");
		is.disabled = await page.locator(".live-view button:disabled").count();
		is.value = await gauge(page, "allocated");
		await axe(page, "death");
		await page.waitForFunction((id) => ![...document.querySelectorAll("#agent option")].slice(
			1).some((o) => o.value === id), given.plain);
		await page.locator("#agent").selectOption(given.id);
		await page.waitForFunction(
			(pid) => document.querySelector("[data-card=live] .said").textContent.includes(
			`process ${pid} `), given.id);
		await page.locator(".failure").waitFor({ state: "detached" });
		await close(page);
		const nobody = await open("#/live/1");
		is.nobody = await text(nobody, "[data-card=live] .failure");
		await close(nobody);
	},
});
