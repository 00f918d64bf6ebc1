// What charging's pages ask for again and again.

import { onCleanup } from "solid-js";
import { feed } from "../../live";

/**
 * Does something again and again while somebody looks and the program is heard of, for as long as the component or the
 * effect around it holds. The beat of the live feed is no clock for it: where nothing is captured it comes every few
 * seconds alone.
 */
export function useEvery(ms: number, run: () => void): void {
  const timer = setInterval(() => document.hidden || feed() === "lost" || run(), ms);
  onCleanup(() => clearInterval(timer));
}
