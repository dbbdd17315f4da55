// SPDX-License-Identifier: MIT OR Apache-2.0
// node speedscope_import.js FILE: what speedscope's importer makes of a file, as JSON.
//
// Its package is a page: one bundle, which is run here as far as the importers, with objects in
// the place of a browser's that do nothing.  Nothing of the importers is changed.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const folder = path.join(__dirname, "..", "node_modules", "speedscope", "dist", "release");
const bundle = fs.readdirSync(folder).find((name) => /^speedscope-.*\.js$/.test(name));
let code = fs.readFileSync(path.join(folder, bundle), "utf8");
const importers = /\(await (\w+)\)\.importProfilesFromArrayBuffer\(/.exec(code)[1];
const start = code.lastIndexOf("console.log(`speedscope v");
code = code.slice(0, start) + `globalThis.importers=${importers};})();`;

const anything = new Proxy(function () {}, {
	get: (_, key) => (key === Symbol.toPrimitive ? () => "" : key === "then" ? undefined :
		anything),
	apply: () => anything,
	construct: () => anything,
	set: () => true,
});
const context = vm.createContext({
	console: { log() {}, warn() {}, error: console.error },
	document: anything, navigator: { userAgent: "", platform: "" },
	localStorage: anything, location: anything, matchMedia: anything, HTMLElement: class {},
	requestAnimationFrame() {}, setTimeout, clearTimeout, performance, URL, Blob, fetch,
	TextDecoder, TextEncoder, atob, btoa,
});
context.self = context.window = context;
context.addEventListener = () => {};
try {
	vm.runInContext(code, context);
} catch (error) {
	console.error(error.message); // not with the whole bundle before it
	process.exit(1);
}

async function main() {
	const bytes = fs.readFileSync(process.argv[2]);
	const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
	const group = await (await context.importers).importProfilesFromArrayBuffer(
		path.basename(process.argv[2]), buffer);
	if (!group)
		throw new Error("not recognised");
	console.log(JSON.stringify({
		name: group.name,
		view: group.indexToView,
		profiles: group.profiles.map((profile) => {
			const frames = [];
			profile.forEachFrame((f) => frames.push({
				name: f.name, file: f.file, self: f.getSelfWeight(), total: f.getTotalWeight(),
			}));
			return { name: profile.getName(), unit: profile.getWeightUnit(),
				total: profile.getTotalWeight(), frames };
		}),
	}));
}
main().catch((error) => {
	console.error(error.message);
	process.exitCode = 1;
});
