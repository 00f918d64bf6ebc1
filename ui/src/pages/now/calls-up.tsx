import { A } from "@solidjs/router";
import { createMemo, Index, Show, type JSX } from "solid-js";
import type { CallUp } from "../../api/types";
import { ticking, whole } from "../../format";
import { callsUp, status } from "../../live";
import { StateTag } from "../../parts/meaning";

/** Newest calls that are up. Rows are kept and only their texts change, so that a second costs little. */
export function CallsUp(): JSX.Element {
  const calls = createMemo(() => callsUp().up);
  const now = (): number => (status()?.at_ns ?? 0) / 1e6;
  return (
    <section class="panel" aria-label="Active calls">
      <header>
        <h2>Active calls</h2>
        <span class="muted num">
          {calls().length < callsUp().total ? `newest ${calls().length} of ${whole(callsUp().total)}` : whole(callsUp().total)}
        </span>
      </header>
      <Show when={calls().length > 0} fallback={<p class="body muted">No active calls. A new call appears here within a second.</p>}>
        <ul class="now-up">
          <Index each={calls()}>
            {(call) => (
              <li>
                <A href={`/calls/${call().id}`} data-row-link>
                  <span class="clip">
                    {call().from || "unknown"} → {call().to || "unknown"}
                  </span>
                  <span>
                    <StateTag state={call().state} />
                  </span>
                  <span class="num right">{ticking(age(call(), now()))}</span>
                </A>
              </li>
            )}
          </Index>
        </ul>
      </Show>
      <p class="now-up-foot muted">A call whose end was not captured counts as active until it has been silent for four hours.</p>
    </section>
  );
}

const age = (call: CallUp, now: number): number => now - (call.answer_ns ?? call.start_ns) / 1e6;
