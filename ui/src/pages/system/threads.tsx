import { createMemo, For, type JSX } from "solid-js";
import type { LiveStatus } from "../../api/types";
import { percent } from "../../format";
import { Fill } from "../../parts/fill";
import { useRates } from "./rates";

/** Which thread is busy: one that comes near a whole processor is where packets will be lost next. */
export function Threads(props: { status: LiveStatus }): JSX.Element {
  const named = createMemo(() => {
    const totals = new Map<string, number>();
    for (const thread of props.status.threads) totals.set(thread.name, (totals.get(thread.name) ?? 0) + thread.cpu_s_total);
    return totals;
  });
  const rates = useRates(
    () => props.status,
    () => Object.fromEntries(named()),
  );
  const names = createMemo(() => [...named().keys()].sort().join("\n"));
  return (
    <section class="panel" aria-label="Threads">
      <header>
        <h2>Threads</h2>
        <span class="muted">share of one CPU</span>
      </header>
      <ul class="system-threads">
        <For each={names().split("\n").filter(Boolean)}>
          {(name) => (
            <li>
              <code class="clip">{name}</code>
              <Fill share={rates()[name] ?? 0} label={`Thread ${name}`} />
              <span class="num right">{percent(rates()[name] ?? 0, 0)}</span>
            </li>
          )}
        </For>
      </ul>
    </section>
  );
}
