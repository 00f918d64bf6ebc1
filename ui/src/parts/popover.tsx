// A button and the panel that it opens: closed by Escape, by a click elsewhere and by leaving it with the tabulator.

import { createEffect, createSignal, createUniqueId, on, onCleanup, Show, type JSX } from "solid-js";
import "./popover.css";

export interface PopoverProps {
  /** What the panel is, for those who do not see it. */
  label: string;
  /** What the button shows. */
  button: JSX.Element;
  buttonClass?: string;
  title?: string;
  disabled?: boolean;
  /** On which side of the button the panel begins. */
  align?: "start" | "end";
  children: (close: () => void) => JSX.Element;
}

export function Popover(props: PopoverProps): JSX.Element {
  const [open, setOpen] = createSignal(false);
  const id = createUniqueId();
  let root: HTMLDivElement | undefined;
  let button: HTMLButtonElement | undefined;
  let panel: HTMLDivElement | undefined;
  const close = (): void => {
    if (panel?.contains(document.activeElement)) button?.focus();
    setOpen(false);
  };
  const elsewhere = (event: Event): void => {
    if (!root?.contains(event.target as Node)) setOpen(false);
  };
  const escape = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.preventDefault();
    event.stopPropagation();
    close();
  };
  createEffect(
    on(open, (now) => {
      if (!now) return;
      document.addEventListener("pointerdown", elsewhere, true);
      keepOnScreen(panel);
      panel?.querySelector<HTMLElement>("[autofocus], input, button, a, select")?.focus({ preventScroll: true });
      onCleanup(() => document.removeEventListener("pointerdown", elsewhere, true));
    }),
  );
  const left = (event: FocusEvent): void => {
    const next = event.relatedTarget as Node | null;
    if (next && !root?.contains(next)) setOpen(false);
  };
  return (
    <div class="popover" ref={root} onKeyDown={escape} onFocusOut={left}>
      <button
        ref={button}
        type="button"
        class={`button ${props.buttonClass ?? ""}`}
        title={props.title}
        disabled={props.disabled ?? false}
        aria-expanded={open()}
        aria-haspopup="dialog"
        aria-controls={open() ? id : undefined}
        onClick={() => (open() ? close() : setOpen(true))}
      >
        {props.button}
      </button>
      <Show when={open()}>
        <div ref={panel} id={id} class={`popover-panel ${props.align ?? "start"}`} role="dialog" aria-label={props.label}>
          {props.children(close)}
        </div>
      </Show>
    </div>
  );
}

/** Moves a panel that would stand over the edge of the window. */
function keepOnScreen(panel: HTMLElement | undefined): void {
  if (!panel) return;
  const margin = 8;
  const { left, right } = panel.getBoundingClientRect();
  const width = document.documentElement.clientWidth;
  const shift = right > width - margin ? width - margin - right : 0;
  const move = Math.max(shift, margin - left);
  if (left + shift < margin || shift < 0) panel.style.transform = `translateX(${Math.round(move)}px)`;
}
