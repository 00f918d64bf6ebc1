// The time range that pages share. It stands in the address, so that a link shows what its sender saw: relative
// ("now-1h") as long as one follows, absolute once something was zoomed. Where captures were opened there is no now that
// matters: without a range in the address, pages show the time of the captures.

import { useSearchParams } from "@solidjs/router";
import { createSignal } from "solid-js";
import { get } from "./api/client";
import type { CallsPage } from "./api/types";
import { absolute, type Range } from "./ranges";
import { ms } from "./time";

export * from "./ranges";

const MINUTE = 60_000;

const [captured, setCaptured] = createSignal<Range | undefined>();

/** Asks when the first and the last call of the store were, for pages whose address has no range. */
export async function showCaptured(): Promise<void> {
  const end = (order: string): Promise<CallsPage> => get<CallsPage>("/calls", { order, limit: 1 });
  const [first, last] = (await Promise.all([end("oldest"), end("newest")])).map((page) => page.calls[0]);
  if (first && last) setCaptured(absolute(Math.floor(ms(first.start) / MINUTE) * MINUTE, Math.ceil(ms(last.last) / MINUTE) * MINUTE));
}

/** The range of the address and how to change it. */
export function useRange(initial = "now-24h"): [() => Range, (range: Range) => void] {
  const [search, setSearch] = useSearchParams<{ from?: string; to?: string }>();
  const usual = (): Range => captured() ?? { from: initial, to: "now" };
  const range = (): Range => ({ from: search.from ?? usual().from, to: search.to ?? (search.from === undefined ? usual().to : "now") });
  const isUsual = (next: Range): boolean => next.from === usual().from && next.to === usual().to;
  return [range, (next) => setSearch(isUsual(next) ? { from: undefined, to: undefined } : { from: next.from, to: next.to === "now" ? undefined : next.to })];
}
