// SPDX-License-Identifier: MIT OR Apache-2.0
// A small field that writes one key of the address while its reader types.
import { useEffect, useState } from "preact/hooks";
import { go, useRoute } from "../app/url";

export function Search({
	label,
	placeholder,
	name = "search",
}: {
	label: string;
	placeholder: string;
	name?: string;
}) {
	const said = useRoute().parameters[name] ?? "";
	const [text, setText] = useState(said);
	useEffect(() => setText(said), [said]);
	useEffect(() => {
		if (text === said) return;
		const timer = setTimeout(() => go({ [name]: text }, true), 150);
		return () => clearTimeout(timer);
	}, [text]);
	return (
		<input
			class="field search"
			type="search"
			aria-label={label}
			placeholder={placeholder}
			value={text}
			onInput={(event) => setText(event.currentTarget.value)}
		/>
	);
}
