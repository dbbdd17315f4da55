// SPDX-License-Identifier: MIT OR Apache-2.0
// A picture that a script saved: as wide as there is room, and on a click as large as one likes.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const STEPS = [0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8];

export function Picture({ url, name }: { url: string; name: string }) {
	const [open, setOpen] = useState(false);
	const [gone, setGone] = useState(false);
	return (
		<figure class="console-picture">
			{gone ? (
				<p class="dim">
					{name} is kept for an hour, and is there no more: run the script again.
				</p>
			) : (
				<button
					type="button"
					class="console-frame"
					aria-label={`${name}: larger`}
					title="Larger"
					onClick={() => setOpen(true)}>
					<img src={url} alt={name} onError={() => setGone(true)} />
				</button>
			)}
			<figcaption>
				<span>{name}</span>
				<a class="link" href={url} target="_blank" rel="noreferrer">
					Open
				</a>
				<a class="link" href={url} download={name}>
					Download
				</a>
			</figcaption>
			{open && <Large url={url} name={name} onClose={() => setOpen(false)} />}
		</figure>
	);
}

function Large({ url, name, onClose }: { url: string; name: string; onClose: () => void }) {
	const dialog = useRef<HTMLDialogElement>(null),
		room = useRef<HTMLDivElement>(null),
		image = useRef<HTMLImageElement>(null);
	const [natural, setNatural] = useState<{ width: number; height: number }>();
	const [zoom, setZoom] = useState(0); /* 0: as large as there is room */
	const [fit, setFit] = useState(1);
	const held = useRef<{ x: number; y: number }>();
	useEffect(() => {
		dialog.current?.showModal();
		room.current?.focus();
	}, []);
	const measure = (): void => {
		const box = room.current;
		if (!box || !natural) return;
		setFit(
			Math.min(
				(box.clientWidth - 16) / natural.width,
				(box.clientHeight - 16) / natural.height,
			),
		);
	};
	useLayoutEffect(measure, [natural]);
	useEffect(() => {
		addEventListener("resize", measure);
		return () => removeEventListener("resize", measure);
	}, [natural]);
	const now = zoom || fit;
	/* What is in the middle stays there. */
	const to = (next: number): void => {
		const box = room.current;
		const share = next / now;
		const x = box ? (box.scrollLeft + box.clientWidth / 2) * share - box.clientWidth / 2 : 0,
			y = box ? (box.scrollTop + box.clientHeight / 2) * share - box.clientHeight / 2 : 0;
		setZoom(next);
		requestAnimationFrame(() => box?.scrollTo(x, y));
	};
	const larger = (): void => to(STEPS.find((step) => step > now * 1.01) ?? now);
	const smaller = (): void => to([...STEPS].reverse().find((step) => step < now * 0.99) ?? now);
	const keys = (event: KeyboardEvent): void => {
		const box = room.current;
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		if (event.key === "+" || event.key === "=") larger();
		else if (event.key === "-") smaller();
		else if (event.key === "0") setZoom(0);
		else if (event.key === "1") to(1);
		else if (event.key === "ArrowLeft") box?.scrollBy(-80, 0);
		else if (event.key === "ArrowRight") box?.scrollBy(80, 0);
		else if (event.key === "ArrowUp") box?.scrollBy(0, -80);
		else if (event.key === "ArrowDown") box?.scrollBy(0, 80);
		else return;
		event.preventDefault();
		event.stopPropagation();
	};
	return (
		<dialog
			ref={dialog}
			class="console-large"
			aria-label={name}
			onClose={onClose}
			onKeyDown={keys}>
			<header>
				<strong>{name}</strong>
				<span class="dim" role="status">
					{Math.round(now * 100)} %
				</span>
				<button type="button" class="button" title="Smaller (-)" onClick={smaller}>
					−
				</button>
				<button type="button" class="button" title="Larger (+)" onClick={larger}>
					+
				</button>
				<button
					type="button"
					class="button"
					title="As large as there is room (0)"
					aria-pressed={!zoom}
					onClick={() => setZoom(0)}>
					Fit
				</button>
				<button
					type="button"
					class="button"
					title="Close (Esc)"
					onClick={() => dialog.current?.close()}>
					Close
				</button>
			</header>
			<div
				class="console-room"
				ref={room}
				tabIndex={0}
				role="group"
				aria-label="The picture; arrows move it, + and - zoom"
				onWheel={(event) => {
					if (!event.ctrlKey) return;
					event.preventDefault();
					if (event.deltaY < 0) larger();
					else smaller();
				}}
				onPointerDown={(event) => {
					held.current = { x: event.clientX, y: event.clientY };
					event.currentTarget.setPointerCapture(event.pointerId);
					event.preventDefault();
				}}
				onPointerMove={(event) => {
					if (!held.current) return;
					event.currentTarget.scrollBy(
						held.current.x - event.clientX,
						held.current.y - event.clientY,
					);
					held.current = { x: event.clientX, y: event.clientY };
				}}
				onPointerUp={() => (held.current = undefined)}
				onPointerCancel={() => (held.current = undefined)}>
				<img
					ref={image}
					src={url}
					alt={name}
					width={natural ? Math.round(natural.width * now) : undefined}
					onLoad={(event) =>
						setNatural({
							width: event.currentTarget.naturalWidth || 1024,
							height: event.currentTarget.naturalHeight || 768,
						})
					}
				/>
			</div>
		</dialog>
	);
}
