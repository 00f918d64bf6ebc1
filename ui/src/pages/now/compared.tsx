// The last hour beside the same hour of yesterday: is this normal?

import { createResource, For, onCleanup, Show, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { CallsSummary, CallsTotals } from "../../api/types";
import { duration, percent, score, whole } from "../../format";

const REFRESH_MS = 60_000;

interface Row {
  name: string;
  about: string;
  value: (totals: CallsTotals) => string;
}

const ROWS: Row[] = [
  { name: "Calls", about: "calls that began", value: (t) => whole(t.calls) },
  { name: "ASR", about: "answer-seizure ratio: calls answered of all calls", value: (t) => percent(t.asr) },
  { name: "NER", about: "network effectiveness ratio (ITU-T E.425): not the network's fault", value: (t) => percent(t.ner) },
  { name: "ACD", about: "average duration of answered calls", value: (t) => duration(t.acd_s === null ? null : t.acd_s * 1000) },
  { name: "PDD", about: "post-dial delay: from INVITE to ringing", value: (t) => duration(t.pdd_ms) },
  { name: "MOS", about: "mean of the calls' lowest scores (G.107)", value: (t) => score(t.mos) },
  { name: "With a verdict", about: "something was wrong with them", value: (t) => share(t) },
];

const share = (t: CallsTotals): string => (t.calls === 0 ? "–" : `${whole(t.bad)} (${percent(t.bad / t.calls)})`);

export function Compared(): JSX.Element {
  const [both, { refetch }] = createResource(async () => {
    const hour = (from: string, to: string): Promise<CallsSummary> => get<CallsSummary>("/calls/summary", { from, to, buckets: 1 });
    const [now, before] = await Promise.all([hour("now-1h", "now"), hour("now-25h", "now-24h")]);
    return { now: now.totals, before: before.totals };
  });
  const timer = setInterval(() => void refetch(), REFRESH_MS);
  onCleanup(() => clearInterval(timer));
  return (
    <section class="panel" aria-label="The last hour beside yesterday">
      <header>
        <h2>The last hour</h2>
        <span class="muted">beside the same hour of yesterday</span>
      </header>
      <Show when={both.latest} fallback={<p class="body muted">{both.error ? String(both.error.message) : "Adding up …"}</p>}>
        {(totals) => (
          <div class="scroll">
            <table class="table">
              <thead>
                <tr>
                  <th scope="col">Figure</th>
                  <th scope="col" class="right">Last hour</th>
                  <th scope="col" class="right">Yesterday</th>
                </tr>
              </thead>
              <tbody>
                <For each={ROWS}>
                  {(row) => (
                    <tr title={row.about}>
                      <td>{row.name}</td>
                      <td class="right">{row.value(totals().now)}</td>
                      <td class="right muted">{totals().before.calls === 0 ? "–" : row.value(totals().before)}</td>
                    </tr>
                  )}
                </For>
              </tbody>
            </table>
          </div>
        )}
      </Show>
    </section>
  );
}
