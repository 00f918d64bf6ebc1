// The time range that pages share. It stands in the address, so that a link shows what its sender saw: relative
// ("now-1h") as long as one follows, absolute once something was zoomed.

import { useSearchParams } from "@solidjs/router";
import type { Range } from "./ranges";

export * from "./ranges";

/** The range of the address and how to change it. */
export function useRange(initial = "now-24h"): [() => Range, (range: Range) => void] {
  const [search, setSearch] = useSearchParams<{ from?: string; to?: string }>();
  const range = (): Range => ({ from: search.from ?? initial, to: search.to ?? "now" });
  return [range, (next) => setSearch({ from: next.from === initial ? undefined : next.from, to: next.to === "now" ? undefined : next.to })];
}
