// What the capture itself lost around this call, so that nobody blames the network for our mirror.

import { For, Show, type JSX } from "solid-js";
import type { CallWithLadder, Stream } from "../../api/types";
import { percent, whole } from "../../format";
import { Icon } from "../../parts/icon";
import { Tag } from "../../parts/meaning";
import { Swatch } from "../../parts/plot";
import { blame, receiverSays, shareOf, type Fault, type Share } from "./fault";
import { pairName } from "./names";
import { lookOf } from "./series";
import "./capture.css";

const TONE: Record<Fault, "good" | "warn" | "bad" | "note"> = { nobody: "good", network: "bad", tap: "note", both: "warn", open: "warn" };

export function Capture(props: { call: CallWithLadder }): JSX.Element {
  const said = (): ReturnType<typeof blame> => blame(props.call);
  return (
    <section class="panel capture" aria-label="Capture ledger">
      <header>
        <h2>Capture ledger</h2>
        <Tag meaning={props.call.capture.complete ? "good" : "warn"}>{props.call.capture.complete ? "complete" : "incomplete"}</Tag>
      </header>
      <div class="body stack">
        <div>
          <p class={`capture-blame ${TONE[said().fault]}-ink`}>{said().title}</p>
          <p class="muted">{said().why}</p>
        </div>
        <Way call={props.call} fault={said().fault} />
        <Show when={props.call.capture.note}>{(note) => <p>In words: {note()}.</p>}</Show>
        <Show when={props.call.streams.length > 0}>
          <ul class="capture-streams">
            <For each={props.call.streams}>{(stream, index) => <Row stream={stream} index={index()} />}</For>
          </ul>
          <p class="capture-legend muted">
            <span>
              <i class="key seen" /> seen
            </span>
            <span>
              <i class="key before" /> lost before the tap
            </span>
            <span>
              <i class="key open" /> lost, unclear where
            </span>
            <span>
              <i class="key tap" /> lost at our tap
            </span>
          </p>
        </Show>
      </div>
    </section>
  );
}

/** The way of a packet: sender, network, our tap, our record; marked where packets were lost. */
function Way(props: { call: CallWithLadder; fault: Fault }): JSX.Element {
  const { capture } = props.call;
  const tap = (): string => (capture.lost_at_tap === capture.lost_at_tap_least ? whole(capture.lost_at_tap) : `${whole(capture.lost_at_tap_least)}–${whole(capture.lost_at_tap)}`);
  return (
    <ol class="way" aria-label="Where packets were lost">
      <li>
        <span>Sender</span>
      </li>
      <Place name="Network before us" lost={whole(capture.lost_before_tap)} some={capture.lost_before_tap > 0} tone="bad" />
      <Place name="Our tap" lost={tap()} some={capture.lost_at_tap > 0} tone="note" />
      <li>
        <span>Our record</span>
      </li>
    </ol>
  );
}

function Place(props: { name: string; lost: string; some: boolean; tone: "bad" | "note" }): JSX.Element {
  return (
    <li class={props.some ? props.tone : "good"}>
      <span>{props.name}</span>
      <b class="num">
        <Icon name={props.some ? "bad" : "good"} size={14} /> {props.lost} lost
      </b>
    </li>
  );
}

function Row(props: { stream: Stream; index: number }): JSX.Element {
  const share = (): Share => shareOf(props.stream);
  return (
    <li>
      <span class="capture-name">
        <Swatch color={lookOf(props.index).color} dash={lookOf(props.index).dash} /> {pairName(props.stream, props.index)}
      </span>
      <Bar share={share()} />
      <span class="num muted">
        {whole(share().seen)} of {whole(share().expected)} seen; receiver: {receiverSays(props.stream)}
      </span>
    </li>
  );
}

/** All that was sent. The lost are drawn at least so wide that one sees them, and to scale among themselves. */
function Bar(props: { share: Share }): JSX.Element {
  const lost = (): number => props.share.expected - props.share.seen;
  const width = (): number => (lost() === 0 ? 0 : Math.max(8, (lost() / Math.max(1, props.share.expected)) * 100));
  const parts = (): { kind: string; part: number; name: string }[] => {
    const open = props.share.tap[1] - props.share.tap[0];
    return [
      { kind: "before", part: props.share.before[0], name: "lost before the tap" },
      { kind: "open", part: open, name: "lost, unclear where" },
      { kind: "tap", part: props.share.tap[0], name: "lost at our tap" },
    ].filter((one) => one.part > 0);
  };
  const label = (): string => `${percent(props.share.seen / Math.max(1, props.share.expected), 2)} seen${parts().map((one) => `, ${whole(one.part)} ${one.name}`).join("")}`;
  return (
    <span class="capture-bar" role="img" aria-label={label()} title={label()}>
      <i class="seen" style={{ width: `${100 - width()}%` }} />
      <For each={parts()}>{(one) => <i class={one.kind} style={{ width: `${(width() * one.part) / lost()}%` }} />}</For>
    </span>
  );
}
