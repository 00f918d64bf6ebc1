// What was charged online for the call; nothing is shown where nothing was.

import { A } from "@solidjs/router";
import { createResource, For, Show, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { CallCharge, CallCharges, CallWithLadder } from "../../api/types";
import { of } from "../../format";
import { known } from "../../parts/known";
import { Tag } from "../../parts/meaning";
import { Time } from "../../parts/time";
import { may } from "../../session";
import { money, units } from "../charge/words";

export function Charged(props: { call: CallWithLadder }): JSX.Element {
  const [charges] = createResource(
    // Anew when the call went on.
    () => (may("charge.read") ? `${props.call.id} ${props.call.last}` : undefined),
    (key) => get<CallCharges>(`/calls/${encodeURIComponent(key.split(" ")[0]!)}/charges`),
  );
  const all = (): CallCharge[] => known(charges)?.charges ?? [];
  return (
    <Show when={all().length > 0}>
      <section class="panel" aria-label="Online charges">
        <header>
          <h2>Online charges</h2>
          <A href="/charge/bill">Reconciliation</A>
        </header>
        <div class="body stack">
          <For each={all()}>{(charge) => <Charge charge={charge} />}</For>
          <Show when={known(charges)?.stopped}>
            <p class="muted">The list may be incomplete: there were too many records in that time, or a day of the store could not be read.</p>
          </Show>
        </div>
      </section>
    </Show>
  );
}

function Charge(props: { charge: CallCharge }): JSX.Element {
  const c = (): CallCharge => props.charge;
  return (
    <div>
      <p>
        <b class="num">{money(c().money, c())}</b> for <span class="num">{units(c().seconds, "seconds")}</span>{" "}
        <Show when={c().account > 0} fallback="no account">
          of account <A href={`/charge/accounts/${c().account}`}>{c().account}</A>
        </Show>{" "}
        <Show when={c().short > 0}>
          <Tag meaning="warn">{money(c().short, c())} not fully covered</Tag>{" "}
        </Show>
        <Show when={!c().rated}>
          <Tag meaning="bad">partly without a price</Tag>
        </Show>
      </p>
      <p class="muted">
        From <Time at={c().from} /> to <Time at={c().to} shape="clock" />
        {c().records > 1 ? ` in ${of(c().records, "record", "records")}` : ""}, by {c().origin || "an unnamed client"}; found by {c().by === "call-id" ? "the Call-ID in the Session-Id" : "numbers and time"}:{" "}
        <Show when={may("numbers.read")} fallback={<span class="mono">{c().session}</span>}>
          <A class="mono" href={`/charge/sessions/${encodeURIComponent(c().session)}`}>
            {c().session}
          </A>
        </Show>
      </p>
    </div>
  );
}
