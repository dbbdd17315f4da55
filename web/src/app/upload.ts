// SPDX-License-Identifier: MIT OR Apache-2.0
// Sends a file to the server, saying how far it is (which fetch cannot).
import { bytes } from "../parts/units";

export interface Upload {
	name: string;
	part: number; /* 0 to 1 */
	error?: string;
}

export function upload(
	file: File,
	limit: number | undefined,
	say: (state: Upload) => void,
): Promise<string> {
	return new Promise((done, fail) => {
		const failed = (error: string): void => {
			say({ name: file.name, part: 0, error });
			fail(new Error(error));
		};
		if (limit !== undefined && file.size > limit)
			return failed(
				`it has ${bytes(file.size)}; the server takes at most ${bytes(limit)}. ` +
					"Give it to memoir server on the command line instead.",
			);
		const request = new XMLHttpRequest();
		request.open("POST", `/upload?${new URLSearchParams({ name: file.name })}`);
		request.setRequestHeader("Content-Type", "application/octet-stream");
		request.upload.onprogress = (event) =>
			say({ name: file.name, part: event.total ? event.loaded / event.total : 0 });
		request.onerror = () => failed("the server does not answer");
		request.onload = () => {
			let said: { id?: string; error?: string } = {};
			try {
				said = JSON.parse(request.responseText);
			} catch {
				/* a proxy's page */
			}
			if (request.status < 300 && said.id) done(said.id);
			else failed(said.error ?? `the server answered ${request.status}`);
		};
		request.send(file);
	});
}
