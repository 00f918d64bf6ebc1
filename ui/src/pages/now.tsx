// What happens now: the page that stays open on the wall. Nothing jumps: every figure has its place and its width.

import { Match, Show, Switch, type JSX } from "solid-js";
import { alerts, feed, status, why } from "../live";
import { Head } from "../parts/head";
import { Icon } from "../parts/icon";
import { hidingCalls, NotAnalysedPanel } from "../parts/not-analysed";
import { useRowKeys } from "../parts/row-keys";
import { Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { Attention } from "./now/attention";
import { CallsUp } from "./now/calls-up";
import { Compared } from "./now/compared";
import { Figures } from "./now/figures";
import { Newest } from "./now/newest";
import { Worst } from "./now/worst";
import "./now/now.css";

export default function Now(): JSX.Element {
  useRowKeys("calls");
  return (
    <>
      <Head title="Now" about={<About />} />
      <Switch fallback={<Loading what="the current state" />}>
        <Match when={feed() === "idle"}>
          <Idle />
        </Match>
        <Match when={feed() === "lost" && !status()}>
          <Trouble error={new Error("Trunkline does not answer. This page reconnects by itself.")} />
        </Match>
        <Match when={status()}>
          <div class="now">
            <Figures />
            <Show when={status()!.calls_started_total === 0}>
              <NotAnalysedPanel seen={hidingCalls()} />
            </Show>
            <div class="now-columns">
              <div class="stack">
                <Attention />
                <Worst />
              </div>
              <CallsUp />
            </div>
            <Compared />
          </div>
        </Match>
      </Switch>
    </>
  );
}

function About(): JSX.Element {
  return (
    <span class="muted">
      <Show when={feed() !== "idle" && status()}>
        {(status) => (
          <>
            {status().source === "demo" ? "a simulated world, since " : "capturing since "}
            <Time at={status().since_ns / 1e6} />
          </>
        )}
      </Show>
    </span>
  );
}

/** Nothing captures: what the store holds is worth more than an empty page. */
function Idle(): JSX.Element {
  return (
    <div class="now">
      <section class="panel" aria-label="Nothing is being captured">
        <p class="body remark">
          <Icon name="note" />
          <span>
            {why()}{" "}
            <span class="muted">
              <code>trunkline run -i INTERFACE</code> captures from a mirror port, <code>trunkline open FILE</code> opens a capture file.
            </span>
          </span>
        </p>
      </section>
      <Show when={(alerts()?.attention.length ?? 0) > 0}>
        <Attention />
      </Show>
      <Newest />
    </div>
  );
}
