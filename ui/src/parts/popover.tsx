// A button and the panel that it opens: closed by Escape, by a click elsewhere and by leaving it with the tabulator. The
// panel is a popover of the browser: it lies above everything, whatever scrolls or cuts around its button. As a menu
// (`menu`) the arrows go through its things to do.

import { createSignal, createUniqueId, Show, type JSX } from "solid-js";
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
  /** A list of things to do rather than a form. */
  menu?: boolean;
  children: (close: () => void) => JSX.Element;
}

const GAP_PX = 4;
const MARGIN_PX = 8;
const INSIDE = "a, button, input, select, textarea";

export function Popover(props: PopoverProps): JSX.Element {
  const [open, setOpen] = createSignal(false);
  const id = createUniqueId();
  let button: HTMLButtonElement | undefined;
  let panel: HTMLDivElement | undefined;
  const close = (): void => {
    if (panel?.contains(document.activeElement)) button?.focus();
    panel?.hidePopover();
  };
  // What is inside exists only while it is open; its place is known only then.
  const before = (event: ToggleEvent): void => {
    if (event.newState !== "open") return;
    setOpen(true);
    requestAnimationFrame(() => {
      if (!button || !panel) return;
      place(panel, button.getBoundingClientRect(), props.align ?? "start");
      (panel.querySelector<HTMLElement>("[autofocus]") ?? panel.querySelector<HTMLElement>(INSIDE))?.focus({ preventScroll: true });
    });
  };
  const after = (event: ToggleEvent): void => void (event.newState === "closed" && setOpen(false));
  // The panel itself takes the focus where a click in it finds nothing else: it must not go to the page, and so leave.
  const left = (event: FocusEvent): void => {
    const next = event.relatedTarget as Node | null;
    if (next && next !== button && !panel?.contains(next)) panel?.hidePopover();
  };
  return (
    <div class="popover">
      <button
        ref={button}
        type="button"
        class={`button ${props.buttonClass ?? ""}`}
        title={props.title}
        aria-label={props.menu ? props.label : undefined}
        disabled={props.disabled ?? false}
        popovertarget={id}
        aria-expanded={open()}
        aria-haspopup="dialog"
        aria-controls={id}
      >
        {props.button}
      </button>
      <div
        ref={panel}
        id={id}
        popover="auto"
        tabindex="-1"
        class="popover-panel"
        role="dialog"
        aria-label={props.label}
        on:beforetoggle={(event) => before(event as ToggleEvent)}
        on:toggle={(event) => after(event as ToggleEvent)}
        onFocusOut={left}
        onKeyDown={(event) => props.menu && byArrows(event, panel)}
      >
        <Show when={open()}>{props.children(close)}</Show>
      </div>
    </div>
  );
}

/** Below the button, above it where there is more room, and never over the edge of the window. */
function place(panel: HTMLElement, at: DOMRect, align: "start" | "end"): void {
  const room = { width: document.documentElement.clientWidth, height: window.innerHeight };
  const wanted = align === "start" ? at.left : at.right - panel.offsetWidth;
  panel.style.left = `${Math.max(MARGIN_PX, Math.min(wanted, room.width - panel.offsetWidth - MARGIN_PX))}px`;
  const below = room.height - at.bottom - GAP_PX - MARGIN_PX;
  const isAbove = panel.offsetHeight > below && at.top > below;
  const top = isAbove ? at.top - GAP_PX - panel.offsetHeight : at.bottom + GAP_PX;
  panel.style.top = `${Math.max(MARGIN_PX, Math.min(top, room.height - panel.offsetHeight - MARGIN_PX))}px`;
}

function byArrows(event: KeyboardEvent, panel: HTMLElement | undefined): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const items = [...(panel?.querySelectorAll<HTMLElement>(INSIDE) ?? [])];
  const at = items.indexOf(document.activeElement as HTMLElement);
  items[(at + (event.key === "ArrowDown" ? 1 : -1) + items.length) % items.length]?.focus();
  event.preventDefault();
}
