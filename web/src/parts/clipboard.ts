// SPDX-License-Identifier: MIT OR Apache-2.0
// Copying text and saving files, and saying that it was done.
let say: (text: string) => void = () => {};

/* The shell's line for short messages (role=status). */
export function onSaid(listener: (text: string) => void): void {
	say = listener;
}
export const notice = (text: string): void => say(text);

export async function copy(text: string, what: string): Promise<void> {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		/* Not a secure context (another computer's address): the old way. */
		const area = document.createElement("textarea");
		area.value = text;
		area.className = "hidden";
		document.body.append(area);
		area.select();
		document.execCommand("copy");
		area.remove();
	}
	notice(`${what} copied`);
}

export function save(name: string, type: string, text: string): void {
	const link = document.createElement("a");
	link.href = URL.createObjectURL(new Blob([text], { type }));
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
