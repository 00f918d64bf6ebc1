// What happens now: the page that stays open on the wall. Nothing jumps: every figure has its place and its width.

import { Match, Switch, type JSX } from "solid-js";
import { feed, status, why } from "../live";
import { Head } from "../parts/head";
import { useRowKeys } from "../parts/row-keys";
import { Empty, Loading } from "../parts/states";
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
      <Switch fallback={<Loading what="what happens now" />}>
        <Match when={feed() === "idle"}>
          <Idle />
        </Match>
        <Match when={status()}>
          <div class="now">
            <Figures />
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
      {status()?.source === "demo" ? "a simulated world, since " : "capturing since "}
      <Time at={status() ? status()!.since_ns / 1e6 : undefined} />
    </span>
  );
}

/** Nothing captures: what the store holds is worth more than an empty page. */
function Idle(): JSX.Element {
  return (
    <div class="now">
      <div class="panel">
        <Empty title="Nothing is being captured">
          <p>{why()}</p>
          <p>
            Start with <code>trunkline run -i INTERFACE</code> on a mirror port, or look at a capture with{" "}
            <code>trunkline open FILE</code>.
          </p>
        </Empty>
      </div>
      <Newest />
      <Compared />
    </div>
  );
}
