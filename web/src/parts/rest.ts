// SPDX-License-Identifier: MIT OR Apache-2.0
// How much room there is for something that is as high as the window allows: from its upper edge
// to the window's lower one.
import { useLayoutEffect, useState } from "preact/hooks";

export interface Room {
	height: number;
	width: number; /* of the element itself; 0: not known yet */
}

/* below: what stands under it; least: no less than that, then the page scrolls. */
export function useRest(
	element: { current: HTMLElement | null },
	below: number,
	least: number,
): Room {
	const [rest, setRest] = useState<Room>({ height: 480, width: 0 });
	useLayoutEffect(() => {
		const measure = (): void => {
			const box = element.current;
			if (!box) return;
			/* What fills the window does not scroll with the page. */
			const scrolled = box.closest(".filling") ? 0 : window.scrollY;
			const top = box.getBoundingClientRect().top + scrolled;
			const next = {
				height: Math.max(least, Math.floor(window.innerHeight - top - below)),
				width: box.clientWidth,
			};
			setRest((old) => (old.height === next.height && old.width === next.width ? old : next));
		};
		measure();
		const observer = new ResizeObserver(measure);
		observer.observe(document.body);
		if (element.current) observer.observe(element.current);
		addEventListener("resize", measure);
		return () => {
			observer.disconnect();
			removeEventListener("resize", measure);
		};
	}, [below, least]);
	return rest;
}
