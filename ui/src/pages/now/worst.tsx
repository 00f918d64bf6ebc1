import { A } from "@solidjs/router";
import { For, Show, type JSX } from "solid-js";
import type { CallBrief } from "../../api/types";
import { status } from "../../live";
import { meaningOfScore, wordOfScore } from "../../format";
import { Mos } from "../../parts/meaning";
import { Time } from "../../parts/time";

/** The worst calls that ended in the last minute, with the reason. */
export function Worst(): JSX.Element {
  const isBad = (call: CallBrief): boolean => call.verdict !== null || ["warn", "bad"].includes(meaningOfScore(call.mos));
  const calls = (): CallBrief[] => (status()?.last_minute.worst ?? []).filter(isBad);
  return (
    <section class="panel" aria-label="Worst calls in the last minute">
      <header>
        <h2>Worst calls in the last minute</h2>
        <A href="/calls?filter=has:verdict">All with a verdict</A>
      </header>
      <Show when={calls().length > 0} fallback={<p class="body muted now-worst">No calls with a problem in the last minute.</p>}>
        <ul class="now-brief now-worst">
          <For each={calls()}>
            {(call) => (
              <li>
                <A href={`/calls/${call.id}`} data-row-link>
                  <span class="now-brief-who clip">
                    {call.from} → {call.to}
                  </span>
                  <span class="now-brief-when">
                    <Mos value={call.mos} /> <Time at={call.start} shape="clock" />
                  </span>
                  <span class="now-brief-what">{call.verdict ?? wordOfScore(call.mos)}</span>
                </A>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </section>
  );
}
