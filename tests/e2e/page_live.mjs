// SPDX-License-Identifier: MIT OR Apache-2.0
// The page while the program that is recorded still runs: what it says moves by itself.
// test_page.py starts it, and lets the program grow meanwhile.
import { boxes, close, given, open, text, walk } from "./page_browser.mjs";

await walk({
	async live(is) {
		const page = await open(`#/overview/${given.id}`);
		await page.locator(".figure-value").nth(1).waitFor();
		is.mark = await text(page, ".about .live");
		is.first = await page.locator(".figure-value .number").nth(1).getAttribute("title");
		is.strip = await text(page, "[data-card=strip] .said");
		await page.waitForFunction((old) => document.querySelectorAll(".figure-value .number")[
			1]?.title !== old, is.first);
		is.second = await page.locator(".figure-value .number").nth(1).getAttribute("title");
		await page.waitForFunction(
			(old) => document.querySelector("[data-card=strip] .said").innerText !== old, is.strip);
		is.banner = await text(page, ".banner");
		await page.locator(".view-link", { hasText: "Flame graph" }).click();
		await page.locator("[data-card=flame] .choice button", { hasText: "leaked" }).click();
		await page.waitForFunction(
			() => document.querySelector("[data-card=flame] .said")?.innerText.includes(
			"never freed"));
		const before = await text(page, "[data-card=flame] .said");
		await page.waitForFunction(
			(old) => document.querySelector("[data-card=flame] .said").innerText !== old, before);
		is.boxes = (await boxes(page)).map((b) => b.name);
		/* What is resident moves, too: its steps and its graph. */
		await page.locator(".view-link", { hasText: "Resident memory" }).click();
		const asked = () => page.locator("[data-step=requested]").getAttribute("data-bytes");
		await page.locator("[data-step=requested]").waitFor();
		is.resident = [Number(await asked())];
		await page.waitForFunction((old) => document.querySelector("[data-step=requested]")
			.dataset.bytes !== old, String(is.resident[0]));
		is.resident.push(Number(await asked()));
		await page.waitForFunction(() => / \d+ samples/.test(
			document.querySelector("[data-card=over-time] .said")?.innerText));
		const samples = await text(page, "[data-card=over-time] .said");
		await page.waitForFunction((old) => document.querySelector(
			"[data-card=over-time] .said").innerText !== old, samples);
		await close(page);
	},
});
