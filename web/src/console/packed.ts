// SPDX-License-Identifier: MIT OR Apache-2.0
// A script in an address: deflated, as letters that need no quoting.
async function through(bytes: Uint8Array, way: GenericTransformStream): Promise<Uint8Array> {
	const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(way);
	return new Uint8Array(await new Response(stream as ReadableStream).arrayBuffer());
}

export async function pack(text: string): Promise<string> {
	if (!text) return "";
	const packed = await through(
		new TextEncoder().encode(text),
		new CompressionStream("deflate-raw"),
	);
	let letters = "";
	for (const byte of packed) letters += String.fromCharCode(byte);
	return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/* Of an address that was cut there is none. */
export async function unpack(letters: string): Promise<string | undefined> {
	if (!letters) return "";
	try {
		const packed = atob(letters.replaceAll("-", "+").replaceAll("_", "/"));
		const bytes = await through(
			Uint8Array.from(packed, (letter) => letter.charCodeAt(0)),
			new DecompressionStream("deflate-raw"),
		);
		return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
	} catch {
		return undefined;
	}
}
