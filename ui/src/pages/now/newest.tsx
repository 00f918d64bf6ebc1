import { A } from "@solidjs/router";
import { createResource, For, Show, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { CallsPage } from "../../api/types";
import { known } from "../../parts/known";
import { Mos, StateTag } from "../../parts/meaning";
import { Time } from "../../parts/time";

const SHOWN = 12;

/** Newest calls of the store, for when nothing is being captured. */
export function Newest(): JSX.Element {
  const [page] = createResource(() => get<CallsPage>("/calls", { limit: SHOWN }));
  return (
    <section class="panel" aria-label="Newest calls">
      <header>
        <h2>Newest calls</h2>
        <A href="/calls">All calls</A>
      </header>
      <Show when={known(page)} fallback={<p class="body muted">{page.error ? String(page.error.message) : "Loading …"}</p>}>
        {(page) => (
          <Show when={page().calls.length > 0} fallback={<p class="body muted">No calls stored yet.</p>}>
            <ul class="now-brief">
              <For each={page().calls}>
                {(call) => (
                  <li>
                    <A href={`/calls/${call.id}`} data-row-link>
                      <span class="now-brief-who clip">
                        {call.from} → {call.to}
                      </span>
                      <span class="now-brief-when">
                        <Mos value={call.mos} range={call.mos_range} /> <StateTag state={call.state} code={call.code} /> <Time at={call.start} />
                      </span>
                      <span class="now-brief-what">{call.verdict ?? ""}</span>
                    </A>
                  </li>
                )}
              </For>
            </ul>
          </Show>
        )}
      </Show>
    </section>
  );
}
