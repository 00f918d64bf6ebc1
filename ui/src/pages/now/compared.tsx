// The last hour compared with the same hour yesterday: is this normal?

import { A } from "@solidjs/router";
import { createResource, For, onCleanup, Show, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { CallsSummary, CallsTotals } from "../../api/types";
import { duration, percent, score, whole } from "../../format";
import { known } from "../../parts/known";

const REFRESH_MS = 60_000;

interface Row {
  name: string;
  about: string;
  value: (totals: CallsTotals) => string;
  /** Where those that are meant are listed. */
  href?: string;
}

const ROWS: Row[] = [
  { name: "Calls", about: "started", value: (t) => whole(t.calls) },
  { name: "ASR", about: "answered", value: (t) => percent(t.asr) },
  { name: "NER", about: "delivered by the network", value: (t) => percent(t.ner) },
  { name: "ACD", about: "average duration", value: (t) => duration(t.acd_s === null ? null : t.acd_s * 1000) },
  { name: "PDD", about: "INVITE to ringing", value: (t) => duration(t.pdd_ms) },
  { name: "MOS", about: "average", value: (t) => score(t.mos) },
  { name: "With a verdict", about: "calls with a problem", value: (t) => (t.calls === 0 ? "–" : percent(t.bad / t.calls)), href: "/calls?filter=has:verdict&from=now-1h" },
];

export function Compared(): JSX.Element {
  const [both, { refetch }] = createResource(async () => {
    const hour = (from: string, to: string): Promise<CallsSummary> => get<CallsSummary>("/calls/summary", { from, to, buckets: 1 });
    const [now, before] = await Promise.all([hour("now-1h", "now"), hour("now-25h", "now-24h")]);
    return { now: now.totals, before: before.totals };
  });
  const timer = setInterval(() => void (document.hidden || refetch()), REFRESH_MS);
  onCleanup(() => clearInterval(timer));
  const value = (row: Row, which: "now" | "before"): string => {
    const totals = known(both)?.[which];
    return !totals || totals.calls === 0 ? "–" : row.value(totals);
  };
  const hasBefore = (): boolean => (known(both)?.before.calls ?? 0) > 0;
  return (
    <section class="panel" aria-label="Last hour compared with yesterday">
      <header>
        <h2>Last hour</h2>
        <span class="muted">{hasBefore() ? "compared with the same hour yesterday" : "no calls in the same hour yesterday"}</span>
      </header>
      <Show when={!both.error} fallback={<p class="body muted">{String(both.error?.message)}</p>}>
        <dl class="now-hour">
          <For each={ROWS}>
            {(row) => (
              <div>
                <dt>{row.name}</dt>
                <dd class="now-hour-now num">
                  <Show when={row.href} fallback={value(row, "now")}>
                    {(href) => <A href={href()}>{value(row, "now")}</A>}
                  </Show>
                </dd>
                <Show when={hasBefore()}>
                  <dd class="muted num">yesterday {value(row, "before")}</dd>
                </Show>
                <dd class="now-hour-about">{row.about}</dd>
              </div>
            )}
          </For>
        </dl>
      </Show>
    </section>
  );
}
