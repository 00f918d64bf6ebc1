import { A } from "@solidjs/router";
import { For, Show, type JSX } from "solid-js";
import { status } from "../../live";
import { Mos } from "../../parts/meaning";
import { Time } from "../../parts/time";

/** The worst calls that ended in the last minute, with the reason. */
export function Worst(): JSX.Element {
  const calls = (): NonNullable<ReturnType<typeof status>>["last_minute"]["worst"] => status()?.last_minute.worst ?? [];
  return (
    <section class="panel" aria-label="Worst calls of the last minute">
      <header>
        <h2>Worst calls of the last minute</h2>
        <A href="/calls?filter=has:verdict">All with a verdict</A>
      </header>
      <Show when={calls().length > 0} fallback={<p class="body muted">No call of the last minute was bad.</p>}>
        <ul class="brief">
          <For each={calls()}>
            {(call) => (
              <li>
                <A href={`/calls/${call.id}`}>
                  <span class="brief-who clip">
                    {call.from} → {call.to}
                  </span>
                  <span class="brief-when">
                    <Mos value={call.mos} /> <Time at={call.start} shape="clock" />
                  </span>
                  <span class="brief-what">{call.verdict ?? "low score"}</span>
                </A>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </section>
  );
}
