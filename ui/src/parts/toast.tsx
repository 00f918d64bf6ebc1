// Short words about what was just done; errors stay until they are read.

import { createSignal, For, type JSX } from "solid-js";
import { Icon } from "./icon";
import "./toast.css";

interface Toast {
  id: number;
  text: string;
  meaning: "good" | "bad";
}

const SHOWN_MS = 4000;
/** More than this many at once are noise: the oldest goes. */
const TOASTS_MAX = 4;

const [toasts, setToasts] = createSignal<Toast[]>([]);
let last = 0;

export function toast(text: string, meaning: "good" | "bad" = "good"): void {
  last += 1;
  const id = last;
  setToasts((before) => [...before.slice(1 - TOASTS_MAX), { id, text, meaning }]);
  if (meaning === "good") setTimeout(() => dismiss(id), SHOWN_MS);
}

export const toastError = (error: unknown): void => toast(error instanceof Error ? error.message : String(error), "bad");

const dismiss = (id: number): unknown => setToasts((before) => before.filter((one) => one.id !== id));

/** Where they show: once, in the frame. */
export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      <For each={toasts()}>
        {(one) => (
          <div class="toast">
            <span class={`${one.meaning}-ink`}>
              <Icon name={one.meaning} />
            </span>
            <span>{one.text}</span>
            <button class="button quiet icon" aria-label="Dismiss" onClick={() => dismiss(one.id)}>
              <Icon name="close" size={14} />
            </button>
          </div>
        )}
      </For>
    </div>
  );
}
