// The streams side by side: a column each, so that the directions are compared line by line.

import { A } from "@solidjs/router";
import { createMemo, createResource, For, Index, Match, Show, Switch, type JSX } from "solid-js";
import { aliasOf, nameOf } from "../../aliases";
import { get } from "../../api/client";
import type { CallWithLadder, SharedStream, Stream } from "../../api/types";
import { percent, score, whole } from "../../format";
import { Mos } from "../../parts/meaning";
import { Swatch } from "../../parts/plot";
import { Loading, Trouble } from "../../parts/states";
import { Time } from "../../parts/time";
import { receiverSays } from "./fault";
import { lookOf } from "./series";
import "./streams.css";

interface Line {
  name: string;
  /** What it is, for the hover. */
  about?: string;
  of: (stream: Stream) => JSX.Element;
  /** Left out if no stream has anything to say. */
  when?: (stream: Stream) => boolean;
}

const share = (part: number, of: number): string => (of > 0 && part > 0 ? ` (${percent(part / of, 2)})` : "");
const milliseconds = (value: number | null | undefined): string => (value === null || value === undefined ? "–" : `${value.toFixed(value < 10 ? 2 : 1)} ms`);

const LOSS_NAMES = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10 or more"].map((run) => `bursts of ${run}`);
const DELAY_NAMES = ["50–70 ms", "70–90 ms", "90–120 ms", "120–150 ms", "150–200 ms", "200–300 ms", "300 ms or more"];

const LINES: Line[] = [
  { name: "MOS G.107", about: "ITU-T G.107 (narrowband) or G.107.1 (wideband), with the codec's own figures, discards included", of: (s) => <G107 stream={s} /> },
  { name: "MOS as VoIPmonitor", about: "VoIPmonitor-compatible: fixed 50 ms, fixed 200 ms and adaptive jitter buffer", of: (s) => `F1 ${score(s.mos.vm_f1)}  F2 ${score(s.mos.vm_f2)}  adaptive ${score(s.mos.vm_adapt)}` },
  { name: "Codec", of: (s) => <Codec stream={s} /> },
  { name: "Packets", about: "Packets received, duplicates included, out of packets sent", of: (s) => `${whole(s.packets)} of ${whole(s.expected)}` },
  { name: "Lost", about: "Distinct packets that were lost", of: (s) => <Missing stream={s} /> },
  { name: "Restored", about: "Lost fax packets restored by redundancy or parity in later packets (T.38)", of: (s) => whole(s.recovered), when: (s) => s.recovered > 0 },
  { name: "Lost (RFC 3550)", about: "Packets expected minus packets received: duplicates hide losses, so it may be negative", of: (s) => whole(s.lost) },
  { name: "Loss bursts", about: "Bursts of lost packets by length", of: (s) => <Bars values={s.loss_runs} names={LOSS_NAMES} none="none" /> },
  { name: "Burst ratio", about: "1 is random loss; more than 1 is bursty loss (G.107)", of: (s) => (s.burst_ratio === null ? "–" : s.burst_ratio.toFixed(2)), when: (s) => s.burst_ratio !== null },
  { name: "Duplicates", of: (s) => whole(s.duplicates) },
  { name: "Reordered", of: (s) => whole(s.reordered) },
  { name: "Jitter average / max", about: "RFC 3550 A.8", of: (s) => `${milliseconds(s.jitter_mean_ms)} / ${milliseconds(s.jitter_max_ms)}` },
  { name: "Delay steps", about: "Changes of transit time between consecutive packets, 50 ms or more", of: (s) => <Bars values={s.delay_histogram} names={DELAY_NAMES} none="none of 50 ms or more" /> },
  { name: "Discarded", about: "Arrived too late for a jitter buffer of 200 ms", of: (s) => `${whole(s.discarded)}${share(s.discarded, s.expected)}` },
  { name: "DSCP", about: "Priority mark in the IP header; 46 is expedited forwarding (EF)", of: (s) => dscp(s.dscp) },
  { name: "DTMF", about: "Keys pressed, RFC 4733", of: (s) => s.dtmf ?? "–", when: (s) => s.dtmf !== null },
  { name: "Talkspurts", of: (s) => `${whole(s.talkspurts)}${s.comfort_noise > 0 ? `, comfort noise ${whole(s.comfort_noise)}` : ""}`, when: (s) => s.talkspurts > 1 || s.comfort_noise > 0 },
  { name: "Receiver's loss (RTCP)", about: "Loss counted by the receiver, from its RTCP reports", of: receiverSays },
  { name: "RTCP jitter / round trip", of: (s) => `${milliseconds(s.rtcp.jitter_max_ms)} / ${milliseconds(s.rtcp.round_trip_ms)}`, when: (s) => s.rtcp.receiver_reports + s.rtcp.sender_reports > 0 },
  { name: "Clock skew", of: (s) => `${Math.round(s.skew_ppm ?? 0) + 0} ppm`, when: (s) => s.skew_ppm !== null },
  { name: "Timestamp jumps", about: "RTP timestamps jumped while packets arrived on time: neither jitter nor loss", of: (s) => whole(s.timestamp_jumps), when: (s) => s.timestamp_jumps > 0 },
  { name: "Sequence jumps", about: "RTP sequence numbers jumped or restarted without a pause: no loss", of: (s) => whole(s.sequence_jumps), when: (s) => s.sequence_jumps > 0 },
  { name: "Lost after the tap", about: "From the receiver's reports; the MOS includes this loss", of: (s) => `${whole(s.rtcp.lost_after_tap)}${share(s.rtcp.lost_after_tap, s.rtcp.passed)}${s.mos_receiver === null ? "" : `, MOS ${s.mos_receiver.toFixed(2)}`}`, when: (s) => s.rtcp.lost_after_tap > 0 },
  { name: "From – to", of: (s) => <FromTo stream={s} /> },
  { name: "Packet numbers", of: (s) => `${s.packet_first} – ${s.packet_last}` },
];

export function Streams(props: { streams: Stream[]; shared: SharedStream[] }): JSX.Element {
  return (
    <>
      <Show when={props.streams.length > 0 || props.shared.length === 0}>
        <Table streams={props.streams} title="Streams" />
      </Show>
      <SharedStreams shared={props.shared} />
    </>
  );
}

/** Streams of this call that are kept with others, whose SDP names the same endpoints. */
function SharedStreams(props: { shared: SharedStream[] }): JSX.Element {
  const calls = createMemo(() => [...new Set(props.shared.map((one) => one.call))]);
  return <For each={calls()}>{(call) => <SharedWith call={call} shared={props.shared.filter((one) => one.call === call)} />}</For>;
}

function SharedWith(props: { call: string; shared: SharedStream[] }): JSX.Element {
  const [other] = createResource(
    () => props.call,
    (id) => get<CallWithLadder>(`/calls/${encodeURIComponent(id)}`),
  );
  const streams = (): Stream[] =>
    (other()?.streams ?? []).flatMap((stream) => props.shared.filter((one) => one.id === stream.id).map((one) => ({ ...stream, direction: one.direction })));
  const note = (
    <>
      shared with{" "}
      <A href={`/calls/${props.call}`} title="Its SDP names the same endpoints: two legs of a back-to-back user agent that does not relay media">
        the call {other() ? `${other()!.from || "anonymous"} → ${other()!.to || "anonymous"}` : props.call}
      </A>
    </>
  );
  return (
    <Switch fallback={<Loading what="the streams of the other call" />}>
      <Match when={other.error}>
        <Trouble error={other.error} />
      </Match>
      <Match when={other()}>
        <Table streams={streams()} title="Streams of both calls" note={note} />
      </Match>
    </Switch>
  );
}

function Table(props: { streams: Stream[]; title: string; note?: JSX.Element }): JSX.Element {
  const lines = (): Line[] => LINES.filter((line) => !line.when || props.streams.some(line.when));
  return (
    <section class="panel streams" aria-label={props.title}>
      <header>
        <h2>{props.title}</h2>
        <span class="muted">
          {props.streams.length}
          {props.note ? ", " : ""}
          {props.note}
        </span>
      </header>
      <Show when={props.streams.length > 0} fallback={<p class="body muted">No media was captured: the call was not answered, or its media does not pass the tap.</p>}>
        <div class="scroll" tabindex="0" role="region" aria-label="Stream statistics">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">
                  <span class="sr">Value</span>
                </th>
                <For each={props.streams}>{(stream, index) => <Name stream={stream} index={index()} />}</For>
              </tr>
            </thead>
            <tbody>
              <For each={lines()}>
                {(line) => (
                  <tr>
                    <th scope="row" title={line.about}>
                      {line.name}
                    </th>
                    <For each={props.streams}>{(stream) => <td class="num">{line.of(stream)}</td>}</For>
                  </tr>
                )}
              </For>
            </tbody>
          </table>
        </div>
      </Show>
    </section>
  );
}

function Name(props: { stream: Stream; index: number }): JSX.Element {
  const end = (endpoint: string | null): JSX.Element => (
    <span class="nowrap" title={endpoint ?? ""}>
      {aliasOf(endpoint) ? nameOf(endpoint) : endpoint}
    </span>
  );
  return (
    <th scope="col">
      <div class="stream-name">
        <span class="nowrap">
          <Swatch color={lookOf(props.index).color} dash={lookOf(props.index).dash} /> {props.index + 1}. from the {props.stream.direction ?? "unknown side"}
        </span>
        <span class="muted">
          {end(props.stream.src)} → {end(props.stream.dst)}
        </span>
        <code class="muted">{props.stream.ssrc}</code>
      </div>
    </th>
  );
}

function G107(props: { stream: Stream }): JSX.Element {
  return (
    <Show when={props.stream.mos.g107 !== null || props.stream.mos_range} fallback={<span class="muted" title="There is no G.107 value for the codec, or too few packets were captured">n/a</span>}>
      <Mos value={props.stream.mos.g107} range={props.stream.mos_range} /> <span class="muted">{props.stream.mos.scale}</span>
    </Show>
  );
}

function Codec(props: { stream: Stream }): JSX.Element {
  return (
    <>
      {props.stream.codec ?? "unknown"}
      {props.stream.ptime_ms ? `, ${props.stream.ptime_ms} ms` : ""}
      {props.stream.encrypted ? ", encrypted" : ""} <span class="muted">PT {props.stream.payload_types.join(", ")}</span>
    </>
  );
}

function Missing(props: { stream: Stream }): JSX.Element {
  const some = (): boolean => props.stream.missing > 0;
  return (
    <>
      <span classList={{ "bad-ink": props.stream.missing > props.stream.expected * 0.01 }}>
        {whole(props.stream.missing)}
        {share(props.stream.missing, props.stream.expected)}
      </span>
      <Show when={some() && props.stream.lost_at_tap > 0}>
        <span class="muted"> of these {props.stream.lost_at_tap_least === props.stream.lost_at_tap ? "" : `${whole(props.stream.lost_at_tap_least)} to `}{whole(props.stream.lost_at_tap)} by our capture</span>
      </Show>
    </>
  );
}

function FromTo(props: { stream: Stream }): JSX.Element {
  return (
    <>
      <Time at={props.stream.first} shape="clock-ms" /> – <Time at={props.stream.last} shape="clock-ms" />
    </>
  );
}

const KNOWN_DSCP: Record<number, string> = { 0: "best effort", 8: "CS1", 24: "CS3", 26: "AF31", 32: "CS4", 34: "AF41", 40: "CS5", 46: "EF", 48: "CS6" };
const dscp = (mark: number): string => `${mark}${KNOWN_DSCP[mark] ? ` ${KNOWN_DSCP[mark]}` : ""}`;

const BAR = 9;
const BARS_HIGH = 22;

/** Few counts as bars: their form at a glance, their figures on hover and for readers of screens. */
function Bars(props: { values: number[]; names: string[]; none: string }): JSX.Element {
  const most = (): number => Math.max(1, ...props.values);
  const said = (): string => props.values.flatMap((value, at) => (value > 0 ? [`${props.names[at]}: ${whole(value)}`] : [])).join(", ");
  // A root keeps the few visible beside the many.
  const high = (value: number): number => (value === 0 ? 0 : Math.max(3, Math.sqrt(value / most()) * BARS_HIGH));
  return (
    <Show when={props.values.some((value) => value > 0)} fallback={<span class="muted">{props.none}</span>}>
      <svg class="bars" width={props.values.length * (BAR + 2)} height={BARS_HIGH + 1} role="img" aria-label={said()}>
        <line x1="0" x2={props.values.length * (BAR + 2)} y1={BARS_HIGH + 0.5} y2={BARS_HIGH + 0.5} />
        <Index each={props.values}>
          {(value, at) => (
            <rect x={at * (BAR + 2)} y={BARS_HIGH - high(value())} width={BAR} height={high(value())}>
              <title>{`${props.names[at]}: ${whole(value())}`}</title>
            </rect>
          )}
        </Index>
        <title>{said()}</title>
      </svg>
      <span class="muted"> {whole(props.values.reduce((a, b) => a + b, 0))}</span>
    </Show>
  );
}
