// What the screen is like, as a signal.

import { createSignal, onCleanup, type Accessor } from "solid-js";

export const PHONE = "(max-width: 40rem)";

/** Whether a media query holds, now and as it changes. */
export function useMedia(query: string): Accessor<boolean> {
  const list = matchMedia(query);
  const [holds, set] = createSignal(list.matches);
  const changed = (): void => void set(list.matches);
  list.addEventListener("change", changed);
  onCleanup(() => list.removeEventListener("change", changed));
  return holds;
}
