// SPDX-License-Identifier: MIT OR Apache-2.0
// Uses the server's page as a reader would: the frame, recordings, overview and flame graph.
// test_page.py starts it and says what should have been seen.
import { axe, boxes, boxPoint, clickBox, close, given, hash, key, open, seen, settled, shot, text,
	texts, untilHash, untilKey, walk } from "./page_browser.mjs";

const { id, second } = given;
const strip = (page) => page.locator("[data-card=strip] .u-over");
const part = async (locator, x, y = 0.5) => {
	const box = await locator.boundingBox();
	return [box.x + box.width * x, box.y + box.height * y];
};
async function drag(page, locator, from, to) {
	await locator.scrollIntoViewIfNeeded();
	const [x, y] = await part(locator, from), [x2] = await part(locator, to);
	await page.mouse.move(x, y);
	await page.mouse.down();
	await page.mouse.move((x + x2) / 2, y, { steps: 3 });
	await page.mouse.move(x2, y, { steps: 3 });
	await page.mouse.up();
}

await walk({
	async recordings(is) {
		const page = await open("#/recordings");
		await settled(page);
		is.rows = await page.locator(".table-row").count();
		is.heading = await text(page, "[data-card=recordings] .said");
		is.first = await text(page, ".table-row");
		await page.fill("[aria-label='Search recordings']", "no such thing");
		is.none = await text(page, ".empty");
		is.searched = await key(page, "search");
		await page.fill("[aria-label='Search recordings']", given.program);
		await page.locator(".table-row").first().waitFor();
		await page.fill("[aria-label='Search recordings']", "");
		for (const box of await page.locator(".table-row input").all()) await box.check();
		is.compare = await page.locator("a.button.primary").getAttribute("href");
		await page.locator("[role=columnheader] button", { hasText: "peak" }).click();
		is.sorted = await page.locator("[aria-sort]").innerText();
		await axe(page, "recordings");
		/* A file that is no recording is dropped, one that is is chosen. */
		const other = await open("#/recordings", { quiet: true });
		await settled(other);
		await other.evaluate(() => {
			const dataTransfer = new DataTransfer();
			dataTransfer.items.add(new File(["not a recording at all"], "wrong.dat"));
			for (const name of ["dragenter", "dragover", "drop"]) document.querySelector(
				"main").dispatchEvent(
				new DragEvent(name, { dataTransfer, bubbles: true, cancelable: true }));
		});
		is.refused = await text(other, "[role=alert]");
		await other.locator("[role=alert] button").click();
		await close(other);
		await page.setInputFiles("input[type=file]", given.upload);
		await untilHash(page, "#/overview/");
		await settled(page);
		is.uploaded = await text(page, ".about");
		await page.goBack();
		await page.locator(".table-row").nth(2).waitFor();
		await page.locator(".table-row", { hasText: given.upload_name }).first().click(
			{ button: "right" });
		await page.getByRole("menuitem", { name: "Forget" }).click();
		await page.waitForFunction((n) => document.querySelectorAll(".table-row").length === n,
			is.rows);
		is.forgotten = true;
		await close(page);
	},

	async overview(is) {
		const page = await open(`#/overview/${id}`);
		await settled(page);
		is.title = await page.title();
		/* verdicts come after the rest */
		await page.locator(".figure", { hasText: "growing" }).waitFor();
		is.figures = await texts(page, ".figure");
		is.sentences = await page.locator(".sentences a").evaluateAll(
			(all) => all.map((a) => [a.dataset.kind, a.innerText, a.hash]));
		/* Each leads to its evidence. */
		is.evidence = {};
		for (const [kind, , hash] of is.sentences) {
			await page.evaluate((to) => { location.hash = to; }, hash);
			await settled(page);
			is.evidence[kind] = await text(page, "main");
			await page.goBack();
			await untilHash(page, "#/overview/");
		}
		await settled(page);
		is.strip = await text(page, "[data-card=strip] .said");
		is.who = await texts(page, "[data-card=who] .table-row");
		is.verdicts = await texts(page, "[data-card=who] .tag");
		is.graphs = await page.locator(".graphs .card").count();
		is.about = await text(page, "[data-card=about]");
		/* The last card is of the whole recording, and so is what its rows lead to. */
		await page.locator("[data-card=about] summary").click();
		is.about_links = await page.locator("[data-card=about] a").evaluateAll(
			(all) => all.map((a) => decodeURIComponent(a.hash)));
		/* A tick at the very end: no label reaches the edge of its picture, where it would be
		 * cut. */
		is.cut = [];
		for (const end of ["0.1", "0.25", "0.3", ""]) {
			await page.evaluate(([to, end]) =>
				{ location.hash = `#/overview/${to}${end ? `?from=0&to=${end}` : ""}`; },
				[id, end]);
			await settled(page);
			is.cut.push(await page.locator(".strip canvas, .graphs canvas").evaluateAll(
				(list) => list.filter((c) => {
				const edge = Object.assign(document.createElement("canvas"),
					{ width: 1, height: c.height }),
					context = edge.getContext("2d", { willReadFrequently: true });
				context.drawImage(c, 1 - c.width, 0);
				return context.getImageData(0, 0, 1, c.height).data.some((v) => v);
			}).length));
		}
		/* Every graph of the first group. */
		is.labels = [];
		for (const button of await page.locator("[data-card=graph-memory] .choice button").all()) {
			await button.click();
			await settled(page);
			is.labels.push(
				`${await button.innerText()} ` +
					`${await text(page, "[data-card=graph-memory] .said")}`);
		}
		/* Hover tells a moment and a value. */
		const plot = page.locator("[data-card=graph-leaked] .u-over");
		await plot.scrollIntoViewIfNeeded();
		await page.mouse.move(...(await part(plot, 0.7)));
		await page.locator(".tip:not([hidden])").waitFor();
		is.tip = await text(page, ".tip");
		/* A drag zooms all of them and is the brush. */
		await drag(page, plot, 0.25, 0.75);
		await page.waitForFunction(() => location.hash.includes("from="));
		await settled(page);
		is.zoomed = [Number(await key(page, "from")), Number(await key(page, "to"))];
		is.zoomed_said = await text(page, "[data-card=graph-memory] .said");
		await page.goBack();
		await settled(page);
		is.back = await key(page, "from");
		/* Right click: what can be asked. */
		await plot.scrollIntoViewIfNeeded();
		await page.mouse.click(...(await part(plot, 0.5)), { button: "right" });
		is.menu = await texts(page, "[role=menuitem] span:first-child");
		await page.keyboard.press("Escape");
		is.menu_closed = (await page.locator("[role=menu]").count()) === 0;
		await page.mouse.click(...(await part(plot, 0.5)), { button: "right" });
		await page.getByRole("menuitem", { name: "Flame graph of what is alive here" }).click();
		await untilHash(page, "#/flame/");
		is.drilled = [await key(page, "measure"), Number(await key(page, "at"))];
		await page.goBack();
		await settled(page);
		/* Numbers lead to what they count. */
		await page.locator(".figure a").first().click();
		await untilHash(page, "#/flame/");
		is.peak = await key(page, "measure");
		await close(page);
	},

	async flame(is) {
		const page = await open(`#/flame/${id}?measure=allocated`,
			{ permissions: ["clipboard-read", "clipboard-write"] });
		await settled(page);
		is.said = await text(page, "[data-card=flame] .said");
		is.boxes = (await boxes(page)).map(({ name, width }) => [name, Math.round(width)]);
		const at = await boxPoint(page, given.function);
		await page.mouse.move(at.x, at.y);
		is.tip = await text(page, ".tip");
		await clickBox(page, given.function);
		await page.waitForFunction(() => location.hash.includes("zoom="));
		is.zoomed = (await boxes(page)).map(({ name, width }) => [name, Math.round(width)]);
		is.trail = await text(page, ".trail");
		is.foot = await text(page, ".flame-foot");
		is.permalink = await hash(page);
		await page.locator(".flame-foot button", { hasText: "Copy stack" }).click();
		await page.locator(".notice.shown").waitFor();
		is.copied = await page.evaluate(() => navigator.clipboard.readText());
		await page.locator(".flame-foot button", { hasText: /^Pin$/ }).click();
		is.pinned = await text(page, ".pins");
		await page.goBack();
		await untilKey(page, "pin", "");
		await page.goBack();
		await untilKey(page, "zoom", "");
		await page.waitForFunction(
			(n) => document.querySelector(".flame-canvas").boxes().length === n, is.boxes.length);
		is.back = (await boxes(page)).length;
		/* Search. */
		await page.fill("[aria-label='Search in the flame graph']", given.function);
		is.found = await text(page, ".flame-tools [role=status]");
		await page.fill("[aria-label='Search in the flame graph']", "no such function (");
		is.not_found = await text(page, ".flame-tools [role=status]");
		await page.keyboard.press("Escape");
		await untilKey(page, "search", "");
		/* Every measure, weight and shape. */
		is.said_by = {};
		for (const label of ["leaked", "alive at t", "peak", "temporary", "allocated", "blocks",
			"bottom-up", "by thread", "top-down", "bytes"]) {
			await page.locator("[data-card=flame] .card-head .choice button",
				{ hasText: new RegExp(`^${label}$`) }).click();
			await settled(page);
			is.said_by[label] = [await text(page, "[data-card=flame] .said"),
				(await boxes(page)).slice(0, 4).map((b) => b.name)];
		}
		/* The brush recomputes it: less was allocated in a part. */
		await drag(page, strip(page), 0.3, 0.6);
		await page.waitForFunction(() => location.hash.includes("to="));
		await settled(page);
		is.brushed = await text(page, "[data-card=flame] .said");
		is.range = [Number(await key(page, "from")), Number(await key(page, "to"))];
		/* Its middle moves it, and its edge changes it. */
		await drag(page, strip(page), 0.45, 0.55);
		await page.waitForFunction(
			(old) => Number(new URLSearchParams(location.hash.split("?")[1]).get("from")) > old,
			is.range[0] * 1.05);
		is.moved = [Number(await key(page, "from")), Number(await key(page, "to"))];
		await page.locator("button", { hasText: "Whole run" }).click();
		await untilKey(page, "from", "");
		/* A click is a moment. */
		await page.mouse.click(...(await part(strip(page), 0.5)));
		await page.waitForFunction(() => location.hash.includes("at="));
		await settled(page);
		is.moment = await text(page, "[data-card=strip] .said");
		/* Right click on a box adds a term. */
		await clickBox(page, given.function, { button: "right" });
		is.menu = await texts(page, "[role=menuitem] span:first-child");
		await page.getByRole("menuitem", { name: "Only stacks through this function" }).click();
		await page.locator(".label code").waitFor();
		await settled(page);
		is.term = await texts(page, ".label code");
		is.only = (await boxes(page)).map((b) => b.name);
		await page.locator(".label", { has: page.locator("code") }).getByRole("button").click();
		await untilKey(page, "filter", "");
		/* Difference of two times, and of two recordings. */
		await page.selectOption(".flame-tools select", { label: "the start of the program" });
		await settled(page);
		is.against_time = [await text(page, "[data-card=flame] h2"),
			await text(page, "[data-card=flame] .said"), await key(page, "measure")];
		await page.selectOption(".flame-tools select", second);
		await page.locator("[data-card=flame] .choice button", { hasText: "allocated" }).click();
		await settled(page);
		is.against = await text(page, "[data-card=flame] .said");
		await axe(page, "difference");
		await shot(page, "difference-light-1280");
		await page.selectOption(".flame-tools select", "");
		/* As a table. */
		await page.locator("[data-card=flame] .choice button", { hasText: /^table$/ }).click();
		await page.locator("[data-card=flame] .table-row").first().waitFor();
		is.table = await texts(page, "[data-card=flame] .table-row >> nth=0");
		await page.locator("[role=columnheader] button", { hasText: "bytes" }).click();
		is.table_sorted = await key(page, "sort");
		await axe(page, "table");
		await close(page);
	},

	async permalink(is) {
		const page = await open(seen.flame.permalink);
		await settled(page);
		is.zoomed = (await boxes(page)).map(({ name, width }) => [name, Math.round(width)]);
		await page.reload();
		await settled(page);
		is.again = (await boxes(page)).map(({ name, width }) => [name, Math.round(width)]);
		await close(page);
	},

	async keyboard(is) {
		const page = await open(`#/flame/${id}?measure=allocated`);
		await settled(page);
		await page.keyboard.press("Tab");
		is.skip = await page.evaluate(() => document.activeElement.textContent);
		await page.keyboard.press("Enter");
		is.view = await page.evaluate(() => document.activeElement.id);
		await page.keyboard.press("?");
		is.dialog = await text(page, "dialog[open]");
		await page.keyboard.press("Escape");
		await page.waitForFunction(() => !document.querySelector("dialog[open]"));
		await page.keyboard.press("/");
		is.slash = await page.evaluate(() => document.activeElement.id);
		await page.keyboard.press("Escape"); /* completion */
		await page.keyboard.press("Escape"); /* the box */
		/* To the canvas by Tab alone. */
		for (let i = 0; i < 60; i++) {
			await page.keyboard.press("Tab");
			if (await page.evaluate(() => document.activeElement.classList.contains(
				"flame-canvas"))) break;
		}
		is.steps = [];
		for (const press of ["ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp",
			"ArrowDown"]) {
			const before = is.steps.at(-1) ?? "";
			await page.keyboard.press(press);
			await page.waitForFunction(
				(old) => document.getElementById("flame-spoken").innerText !== old, before);
			is.steps.push(await page.locator("#flame-spoken").innerText());
		}
		await page.keyboard.press("Enter");
		await page.waitForFunction(() => location.hash.includes("zoom="));
		const deep = await key(page, "zoom");
		await page.keyboard.press("Escape");
		await page.waitForFunction((old) => !location.hash.includes(`zoom=${old}`), deep);
		is.out = (await key(page, "zoom")) !== deep;
		await page.keyboard.press("p");
		await page.locator(".pins li").waitFor();
		is.pinned = await text(page, ".pins");
		/* The timeline. */
		await page.focus("[role=slider]");
		await page.keyboard.press("ArrowLeft");
		await page.waitForFunction(() => location.hash.includes("at="));
		const first = Number(await key(page, "at"));
		await page.keyboard.press("ArrowLeft");
		await page.waitForFunction(
			(old) => Number(new URLSearchParams(location.hash.split("?")[1]).get("at")) < old,
			first);
		is.spoken = await page.getAttribute("[role=slider]", "aria-valuetext");
		await page.keyboard.press("Escape");
		await untilKey(page, "at", "");
		/* A table row with arrows. */
		await page.goto(`${given.address}/#/recordings`);
		await page.locator(".table-row").first().waitFor();
		await page.focus("[role=grid]");
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Enter");
		await untilHash(page, "#/overview/");
		is.opened = true;
		await close(page);
	},

	async question(is) {
		const page = await open(`#/flame/${id}?measure=allocated`);
		await settled(page);
		const whole = await text(page, "[data-card=flame] .said");
		await page.keyboard.press("/");
		await page.keyboard.type("siz");
		/* Those of "s" and "si" have it too, but not in front: the list of "siz" is what is chosen
		 * from. */
		await page.locator(".completions li:first-child code", { hasText: /^size$/ }).waitFor();
		is.completions = await texts(page, ".completions li code");
		await page.keyboard.press("ArrowDown");
		await page.locator(".completions li.chosen code", { hasText: /^size$/ }).waitFor();
		/* Frames come late, as on a busy machine: what is typed meanwhile is not torn apart. */
		await page.evaluate(() => {
			const frame = window.requestAnimationFrame;
			window.requestAnimationFrame = (run) => window.setTimeout(() => frame(run), 300);
		});
		await page.keyboard.press("Enter");
		await page.waitForFunction(() => document.getElementById("question").value === "size ");
		await page.keyboard.type(">= 1000", { delay: 100 });
		await page.waitForFunction(
			() => document.getElementById("question").value === "size >= 1000");
		await page.keyboard.press("Enter");
		await untilKey(page, "filter", "size >= 1000");
		await settled(page);
		is.asked = await text(page, "[data-card=flame] .said");
		is.differs = is.asked !== whole;
		is.labels = await texts(page, ".label");
		/* Wrong: underlined where it is, and said. */
		await page.fill("#question", "size >= 1000 and sice < 3");
		await page.locator(".question-error").waitFor();
		is.error = await text(page, ".question-error");
		is.underlined = await page.locator(".token-wrong").innerText();
		is.invalid = await page.getAttribute("#question", "aria-invalid");
		await axe(page, "question");
		await page.keyboard.press("Escape");
		/* The panel writes it. */
		await page.fill("#question", "");
		await page.keyboard.press("Enter");
		await untilKey(page, "filter", "");
		await page.getByRole("button", { name: "Filters" }).click();
		await page.locator(".panel-field").first().waitFor();
		is.fields = await page.locator(".panel-field").count();
		await page.locator(".panel-field", { hasText: /^size at most/ }).locator("input").fill(
			"500");
		await axe(page, "panel");
		await shot(page, "panel-light-1280");
		await page.getByRole("button", { name: "Ask" }).click();
		await untilKey(page, "filter", "size_max(500)");
		await settled(page);
		is.panel = await text(page, "[data-card=flame] .said");
		is.read_back = await page.locator(".panel-field", { hasText: /^size at most/ }).locator(
			"input").inputValue();
		await page.goBack();
		await untilKey(page, "filter", "");
		/* The field follows the address when it is drawn next. */
		await page.waitForFunction(() => document.getElementById("question").value === "");
		is.empty_field = await page.inputValue("#question");
		/* Nothing matches: says so, and what to try. */
		await page.goto(`${given.address}/#/flame/${id}?measure=allocated&filter=size%20%3E%201T`);
		is.nothing = await text(page, ".empty");
		await close(page);
	},

	async failing(is) {
		const page = await open("#/recordings", { quiet: true });
		await settled(page);
		let broken = true;
		await page.route("**/data/*/flame?*",
			(route) =>
			(broken ?
			route.fulfill({ status: 500, contentType: "application/json",
			body: '{"error": "the disk is full"}' }) : route.continue()));
		await page.goto(`${given.address}/#/flame/${id}`);
		is.said = await text(page, "[data-card=flame] [role=alert]");
		await axe(page, "failed");
		broken = false;
		await page.getByRole("button", { name: "Try again" }).click();
		await page.locator(".flame-canvas").waitFor();
		is.again = (await boxes(page)).length;
		await page.goto(`${given.address}/#/flame/00000000000000000000000000000000`);
		is.unknown = await text(page, ".empty");
		await page.goto(`${given.address}/#/nonsense/${id}`);
		is.no_view = await text(page, ".empty");
		/* The server goes away: what is known stays. */
		await page.goto(`${given.address}/#/overview/${id}`);
		await page.locator(".figure").first().waitFor();
		await page.route("**/list", (route) => route.abort());
		await page.locator(".banner", { hasText: "does not answer" }).waitFor();
		is.gone = await page.locator(".banner", { hasText: "does not answer" }).innerText();
		is.kept = await page.locator(".figure").count();
		await close(page);
	},

	async frame(is) {
		/* Theme and units. */
		const page = await open(`#/overview/${id}`);
		await settled(page);
		const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
		is.theme = [await theme()];
		await page.getByRole("button", { name: "Dark colours" }).click();
		is.theme.push(await theme());
		await page.reload();
		await settled(page);
		is.theme.push(await theme());
		is.binary = await text(page, ".figure-value");
		await page.getByRole("button", { name: "units are binary" }).click();
		await page.waitForFunction(
			(old) => document.querySelector(".figure-value").textContent !== old, is.binary);
		is.decimal = await text(page, ".figure-value");
		is.exact = await page.locator(".figure-value .number").first().getAttribute("title");
		await page.locator(".view-link", { hasText: "Flame graph" }).click();
		await settled(page);
		is.units_kept = await key(page, "units");
		await close(page);
		/* The column folds away. */
		const narrow = await open(`#/overview/${id}`, { width: 900 });
		await settled(narrow);
		is.folded = await narrow.locator("#column").isVisible();
		await narrow.getByRole("button", { name: "Views" }).click();
		await narrow.locator("#column").waitFor({ state: "visible" });
		await narrow.waitForFunction(
			() => document.getElementById("column").getBoundingClientRect().left === 0);
		await narrow.locator(".view-link", { hasText: "Flame graph" }).click();
		await untilHash(narrow, "#/flame/");
		await settled(narrow);
		await narrow.waitForFunction(
			() => getComputedStyle(document.getElementById("column")).visibility === "hidden");
		await shot(narrow, "flame-light-900");
		is.narrow = true;
		await close(narrow);
	},

	/* An answer that takes long says for how long, and how far it is. */
	async working(is) {
		const page = await open(`#/overview/${id}`);
		await settled(page);
		await page.route("**/flame?*", async (route) => {
			await new Promise((done) => { setTimeout(done, 3000); });
			await route.continue();
		});
		await page.route("**/progress?*", (route) => {
			is.asked = new URL(route.request().url()).searchParams.get("of");
			return route.fulfill({ json: { state: "computing", seconds: 1, pass: 2, done: 0.63 } });
		});
		await page.evaluate((to) => { location.hash = `#/flame/${to}?measure=temporary`; }, id);
		await page.waitForFunction(() => document.querySelector(".working")?.innerText.includes(
			"63 %"));
		is.said = await text(page, ".working");
		is.bar = await page.locator(".working progress").evaluate((bar) => bar.value);
		await shot(page, "working");
		await settled(page);
		await page.waitForFunction(() => !document.querySelector(".working"));
		is.boxes = (await boxes(page)).length;
		await close(page);
	},

	/* With a question and a range every figure, table and link is of what matches. */
	async overview_part(is) {
		const { filter, from, to } = given.part,
			asked = `filter=${encodeURIComponent(filter)}&from=${from}&to=${to}`;
		const page = await open(`#/overview/${id}?${asked}&who=allocated`);
		await settled(page);
		await page.waitForFunction(() => !document.querySelector(".figure [role=status]"));
		is.figures = await texts(page, ".figure");
		is.who = await texts(page, "[data-card=who] .table-row");
		is.said = await text(page, "[data-card=who] .said");
		is.about = await text(page, "[data-card=about]");
		is.sentences = await page.locator(".sentences a").evaluateAll(
			(all) => all.map((a) => [a.dataset.kind, a.innerText, a.hash]));
		/* What was resident is of the whole process, and so is its link. */
		is.links = await page.locator(".figure-value a, .sentences a, [data-card=who] .table-row a")
			.evaluateAll((all) => all.filter((a) => !a.hash.includes("series=rss")).map(
				(a) => a.hash));
		await shot(page, "overview-part");
		await page.locator(".figure", { hasText: "Never freed" }).locator(
			".figure-value a").click();
		await untilHash(page, "#/flame/");
		await settled(page);
		is.flame = await text(page, "[data-card=flame] .said");
		await page.goBack();
		await untilHash(page, "#/overview/");
		await page.evaluate(
			(to) => {
			location.hash = `#/overview/${to}?filter=` +
				`${encodeURIComponent("size > 1 and size < 1")}`; }, id);
		await settled(page);
		is.nothing = await texts(page, ".figure");
		is.empty = await text(page, "[data-card=who] .empty");
		await close(page);
	},

	async looks(is) {
		const moment = given.moment;
		const views = { recordings: "#/recordings", overview: `#/overview/${id}`,
			flame: `#/flame/${id}?measure=alive&at=${moment}` };
		is.sizes = 0;
		for (const scheme of ["light", "dark"]) {
			for (const width of [1280, 2560]) {
				for (const [name, address] of Object.entries(views)) {
					const page = await open(address, { scheme, width, height: width > 2000 ? 1400 :
						900 });
					await settled(page);
					if (width === 1280) await axe(page, `${name} ${scheme}`);
					await shot(page, `${name}-${scheme}-${width}`);
					is.sizes++;
					await close(page);
				}
			}
			/* For the README: a program with more to show. */
			if (given.pictures) {
				const end = given.picture_end;
				const page = await open(scheme === "light" ? `#/overview/${given.picture}` :
					`#/flame/${given.picture}?measure=allocated&from=${end * 0.7}&to=` +
						`${end * 0.95}&at=${end * 0.85}`, { scheme, width: 1360, height: 900 });
				await settled(page);
				await page.waitForFunction(() => !document.querySelector(".figure [role=status]"));
				await page.screenshot({ path: `${given.pictures}/page-${scheme}.png` });
				await close(page);
			}
		}
	},
});
