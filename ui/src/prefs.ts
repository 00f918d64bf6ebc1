// What a viewer chose for this browser: appearance, the zone of times, columns. Kept in local storage.

import { createSignal, type Accessor } from "solid-js";

const PREFIX = "trunkline.";

/** A signal whose value outlives the page. A damaged or absent value gives `initial`. */
export function kept<T>(name: string, initial: T): [Accessor<T>, (value: T) => void] {
  const [value, set] = createSignal<T>(load(name, initial));
  const keep = (next: T): void => {
    set(() => next);
    try {
      localStorage.setItem(PREFIX + name, JSON.stringify(next));
    } catch {
      // Private windows and full disks: the choice lasts as long as the page.
    }
  };
  return [value, keep];
}

function load<T>(name: string, initial: T): T {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? initial : (JSON.parse(text) as T);
  } catch {
    return initial;
  }
}

export type Theme = "system" | "light" | "dark";

export const [theme, setTheme] = kept<Theme>("theme", "system");
/** "browser" or an IANA name; one choice for what is searched, shown and exported. */
export const [zoneChoice, setZone] = kept<string>("zone", "browser");

/** The IANA name of the zone in use. */
export function zone(): string {
  const choice = zoneChoice();
  return choice === "browser" ? Intl.DateTimeFormat().resolvedOptions().timeZone : choice;
}
