// SPDX-License-Identifier: MIT OR Apache-2.0
// A recording without names: the note above every view, its button, and what is there afterwards.
// test_missing_names.py starts it and says what should have been seen.
import { axe, close, given, open, settled, shot, text, texts, walk } from "./page_browser.mjs";

const note = ".banner .names";

await walk({
	async fetches(is) {
		const page = await open(`#/functions/${given.id}`);
		await settled(page);
		await page.locator(note).waitFor();
		is.note = await text(page, note);
		is.functions = await texts(page, ".table-row .who strong");
		await shot(page, "names");
		await axe(page, "names");
		await page.setViewportSize({ width: 400, height: 900 });
		await settled(page);
		await shot(page, "names-400");
		await page.setViewportSize({ width: 1280, height: 900 });
		await page.getByRole("button", { name: "Fetch from debuginfod" }).click();
		await page.locator(".names-looking progress").waitFor();
		is.looking = await text(page, ".names-looking");
		await page.request.get(`${given.servers}/go`);
		await page.locator(".table-row", { hasText: given.function }).first().waitFor();
		await settled(page);
		is.named = await texts(page, ".table-row .who strong");
		is.notes = await page.locator(note).count();
		await close(page);
	},

	async closes(is) {
		const page = await open(`#/flame/${given.other}`);
		await settled(page);
		await page.locator(note).waitFor();
		await page.getByRole("button", { name: "Close the note on missing names" }).click();
		is.closed = await page.locator(note).count();
		await page.reload();
		await settled(page);
		is.again = await page.locator(note).count();
		await page.goto(`${given.address}/#/overview/${given.other}`);
		await settled(page);
		is.overview = await page.locator(note).count();
		await close(page);
	},
});
