// What totals did in the last second: the difference of two snapshots.

import { createEffect, createSignal, type Accessor } from "solid-js";

type Totals = Record<string, number>;

/** Per second, by the times of the snapshots; a total that fell (the program began anew) counts as no rate. */
export function difference(before: Totals, after: Totals, seconds: number): Totals {
  if (seconds <= 0) return {};
  const rate = (name: string, value: number): number => Math.max(0, value - (before[name] ?? value)) / seconds;
  return Object.fromEntries(Object.entries(after).map(([name, value]) => [name, rate(name, value)]));
}

export function useRates<S extends { at_ns: number }>(status: Accessor<S>, totals: (status: S) => Totals): Accessor<Totals> {
  const [rates, setRates] = createSignal<Totals>({});
  let before: { at: number; totals: Totals } | undefined;
  createEffect(() => {
    const now = { at: status().at_ns, totals: totals(status()) };
    if (before && now.at > before.at) setRates(difference(before.totals, now.totals, (now.at - before.at) / 1e9));
    before = now;
  });
  return rates;
}
