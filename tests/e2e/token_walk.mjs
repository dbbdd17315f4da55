// SPDX-License-Identifier: MIT OR Apache-2.0
// A token in the address: kept in a cookie, out of the address, for each port its own; also by a
// link from another site.
//
//   node token_walk.mjs '{"chromium": …, "first": "http://…/?token=…", "second": …, "elsewhere":
//   …}'
import { chromium } from "playwright-core";

const given = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: given.chromium,
	args: ["--no-sandbox", "--disable-gpu"] });
const context = await browser.newContext();
const list = (page) => page.evaluate(async () => (await fetch("/list")).status);
const seen = {};

let page = await context.newPage();
seen.without = (await page.goto(new URL("/", given.first).href)).status();
await page.goto(given.first);
seen.address = page.url();
seen.list = await list(page);
seen.script = await page.evaluate(() => document.cookie);
seen.cookies = (await context.cookies()).map(
	(c) => ({ name: c.name, httpOnly: c.httpOnly, sameSite: c.sameSite }));
const second = await context.newPage();
await second.goto(given.second);
seen.both = [await list(page), await list(second)];
/* A new browser that comes from another site. */
const other = await (await browser.newContext()).newPage();
await other.goto(given.elsewhere);
await other.click("a");
await other.waitForURL((url) => !url.search);
await other.waitForSelector("#app, main, body");
seen.from_elsewhere = await list(other);
await browser.close();
console.log(JSON.stringify(seen));
