// Protocols that are seen but not analysed: why a list of calls may be empty, or not whole.

import { For, Show, type JSX } from "solid-js";
import type { NotAnalysed } from "../api/types";
import { of } from "../format";
import { status } from "../live";
import "./not-analysed.css";

/** What was seen since the capture began. */
export const notAnalysed = (): NotAnalysed[] => status()?.not_analysed ?? [];

/** Of these, what calls or their media may be inside of. */
export const hidingCalls = (): NotAnalysed[] => notAnalysed().filter((one) => one.may_hide_calls);

export function NotAnalysedList(props: { seen: NotAnalysed[] }): JSX.Element {
  return (
    <ul class="not-analysed">
      <For each={props.seen}>
        {(one) => (
          <li>
            <p>
              <b>{one.protocol}</b> <span class="num">{of(one.packets_total, "packet", "packets")}</span>
              <Show when={one.first_on}>{(where) => <span class="muted num">, first on {where()}</span>}</Show>
            </p>
            <Show when={one.hint}>{(hint) => <p class="muted">{hint()}</p>}</Show>
          </li>
        )}
      </For>
    </ul>
  );
}

export function NotAnalysedPanel(props: { seen: NotAnalysed[] }): JSX.Element {
  return (
    <Show when={props.seen.length > 0}>
      <section class="panel" aria-label="Seen but not analysed">
        <header>
          <h2>Seen but not analysed</h2>
        </header>
        <NotAnalysedList seen={props.seen} />
      </section>
    </Show>
  );
}
