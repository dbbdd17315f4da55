// SPDX-License-Identifier: MIT OR Apache-2.0
// Node.js: buffers are what is outside V8's heap, and belong to the functions that make them.
const kept = [];

function readPages(n) {
	for (let i = 0; i < n; i++) kept.push(Buffer.alloc(9000 + i * 8));
}

function copyPages(n) {
	for (let i = 0; i < n; i++) kept.push(Buffer.from(kept[i]));
}

function typedRows(n) {
	for (let i = 0; i < n; i++) kept.push(new Float64Array(2000 + i));
}

function encodeTexts(n) {
	for (let i = 0; i < n; i++) kept.push(Buffer.from("t".repeat(12000 + i)));
}

function packBytes(n) {
	for (let i = 0; i < n; i++) kept.push(new ArrayBuffer(30000 + i));
}

readPages(300);
copyPages(200);
typedRows(300);
encodeTexts(200);
packBytes(200);
console.log(kept.length);
process.reallyExit(0);
