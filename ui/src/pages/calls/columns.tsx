// The columns of the list of calls: one entry each, shown by the table and by its chooser.

import type { JSX } from "solid-js";
import { aliasOf, addressOf } from "../../aliases";
import type { Call, Stream } from "../../api/types";
import { duration, NONE, percent, whole } from "../../format";
import { Icon } from "../../parts/icon";
import { Mos, StateTag } from "../../parts/meaning";
import { Time } from "../../parts/time";
import { day, full, ms, utc } from "../../time";
import type { Test } from "./edit";

export interface Column {
  id: string;
  title: string;
  /** One line for the chooser and the hover of the head. */
  help: string;
  /** In pixels, as long as nobody drags it. */
  width: number;
  /** Figures stand at the right, that their digits compare. */
  right?: boolean;
  /** Shown as long as nobody chose. */
  shown?: boolean;
  /** Takes what the others leave over. */
  grows?: boolean;
  /** Its name in CSV. */
  csv?: string;
  cell: (call: Call) => JSX.Element;
  /** What a click on the value asks for. */
  test?: (call: Call) => Test | undefined;
}

export const WIDTH_MIN = 48;
export const WIDTH_MAX = 800;

const worst = (call: Call, of: (stream: Stream) => number): number | undefined => (call.streams.length ? Math.max(...call.streams.map(of)) : undefined);

/** Packets that never came, of those expected; of the stream with most of them. */
export const lossOf = (call: Call): number | undefined => worst(call, (stream) => (stream.expected > 0 ? stream.missing / stream.expected : 0));

/** All that its streams used: a stream may change codecs, and carries tones and comfort noise as well. */
export const codecsOf = (call: Call): string[] => [...new Set(call.streams.flatMap((stream) => stream.codec?.split(", ") ?? []))];

/** Those that carry speech; the others if there are no such. */
function speechOf(call: Call): string[] {
  const all = codecsOf(call);
  const speech = all.filter((codec) => codec !== "telephone-event" && codec !== "CN");
  return speech.length > 0 ? speech : all;
}

/** Masked numbers come with stars in their middle. */
export const isMasked = (number: string): boolean => /\*{3,}/.test(number);

/** The year only where it is not this one: the list is read by day and second. */
function Start(props: { at: string }): JSX.Element {
  const at = (): number => ms(props.at);
  const said = (): string => {
    const text = full(at());
    return text.startsWith(day(Date.now()).slice(0, 5)) ? text.slice(5) : text.slice(2);
  };
  return (
    <time class="num nowrap" dateTime={props.at} title={utc(at())}>
      {said()}
    </time>
  );
}

function Party(props: { user: string; uri: string }): JSX.Element {
  const masked = (): boolean => isMasked(props.user);
  return (
    <span class="num clip" classList={{ muted: props.user === "" }} title={masked() ? "Masked: your role does not see full numbers" : props.uri}>
      {props.user || "none"}
    </span>
  );
}

function Endpoint(props: { at: string | null }): JSX.Element {
  const name = (): string | undefined => aliasOf(props.at);
  return (
    <span class="clip num" title={props.at ?? "Unknown"}>
      {name() ?? (props.at ? addressOf(props.at) : NONE)}
    </span>
  );
}

const user = (field: string, value: string): Test | undefined => (value === "" || isMasked(value) ? undefined : { field, value });
const host = (field: string, endpoint: string | null): Test | undefined => (endpoint ? { field, value: addressOf(endpoint) } : undefined);

export const COLUMNS: readonly Column[] = [
  { id: "start", title: "Start", help: "First message", width: 122, shown: true, csv: "start", cell: (call) => <Start at={call.start} /> },
  { id: "from", title: "From", help: "User part of From", width: 142, shown: true, csv: "from", cell: (call) => <Party user={call.from} uri={call.from_uri} />, test: (call) => user("caller", call.from) },
  { id: "to", title: "To", help: "User part of To", width: 142, shown: true, csv: "to", cell: (call) => <Party user={call.to} uri={call.to_uri} />, test: (call) => user("callee", call.to) },
  { id: "state", title: "State", help: "How the call ended, with the status code if it was rejected", width: 144, shown: true, csv: "state", cell: (call) => <StateTag state={call.state} code={call.code} />, test: (call) => ({ field: "state", value: call.state }) },
  { id: "duration", title: "Duration", help: "Answer to end", width: 80, right: true, shown: true, csv: "duration_ms", cell: (call) => <span class="num">{duration(call.duration_ms)}</span> },
  { id: "mos", title: "MOS", help: "Lowest G.107 score of its streams, 1 to 5", width: 66, right: true, shown: true, csv: "mos", cell: (call) => <Mos value={call.mos} range={call.mos_range} /> },
  { id: "verdict", title: "Verdict", help: "What went wrong, in one sentence", width: 260, shown: true, grows: true, csv: "verdict", cell: (call) => <Verdict call={call} />, test: (call) => (call.verdict_kind ? { field: "verdict", value: call.verdict_kind } : undefined) },
  { id: "loss", title: "Loss", help: "Lost packets of the stream with the highest loss", width: 72, right: true, cell: (call) => <span class="num">{percent(lossOf(call))}</span> },
  { id: "jitter", title: "Jitter", help: "Highest RFC 3550 jitter of its streams", width: 80, right: true, cell: (call) => <span class="num">{duration(worst(call, (stream) => stream.jitter_max_ms ?? 0))}</span> },
  { id: "codec", title: "Codec", help: "Codecs used", width: 84, cell: (call) => <span class="clip" title={codecsOf(call).join(", ")}>{speechOf(call).join(", ") || NONE}</span>, test: (call) => (speechOf(call)[0] ? { field: "codec", value: speechOf(call)[0]! } : undefined) },
  { id: "pdd", title: "PDD", help: "Post-dial delay: first INVITE to ringing", width: 80, right: true, csv: "pdd_ms", cell: (call) => <span class="num">{duration(call.pdd_ms)}</span> },
  { id: "setup", title: "Setup", help: "First INVITE to answer", width: 80, right: true, csv: "setup_ms", cell: (call) => <span class="num">{duration(call.setup_ms)}</span> },
  { id: "src", title: "Source", help: "Source of the first INVITE; click to filter by host", width: 124, shown: true, csv: "src", cell: (call) => <Endpoint at={call.src} />, test: (call) => host("src", call.src) },
  { id: "dst", title: "Destination", help: "Destination of the first INVITE; click to filter by host", width: 124, shown: true, csv: "dst", cell: (call) => <Endpoint at={call.dst} />, test: (call) => host("dst", call.dst) },
  { id: "code", title: "Code", help: "Status code of the deciding response", width: 64, right: true, csv: "code", cell: (call) => <span class="num" title={call.reason ?? undefined}>{call.code ?? NONE}</span>, test: (call) => (call.code === null ? undefined : { field: "code", value: String(call.code) }) },
  { id: "reason", title: "Reason", help: "Reason phrase of the deciding response", width: 150, csv: "reason", cell: (call) => <span class="clip">{call.reason || NONE}</span> },
  { id: "hangup", title: "Hung up", help: "Who ended an answered call", width: 84, csv: "hangup", cell: (call) => <>{call.hangup === "none" ? NONE : call.hangup}</>, test: (call) => ({ field: "hangup", value: call.hangup }) },
  { id: "ua", title: "User agent", help: "User-Agent of the first INVITE", width: 190, csv: "user_agent", cell: (call) => <span class="clip" title={call.user_agent ?? undefined}>{call.user_agent || NONE}</span>, test: (call) => (call.user_agent ? { field: "ua", value: call.user_agent } : undefined) },
  { id: "messages", title: "Messages", help: "SIP messages of the call", width: 84, right: true, cell: (call) => <span class="num">{whole(call.messages)}</span> },
  { id: "streams", title: "Streams", help: "RTP streams of the call", width: 76, right: true, csv: "streams", cell: (call) => <span class="num">{whole(call.streams.length)}</span> },
  { id: "capture", title: "Capture", help: "Whether the capture is complete, and how many packets the tap lost", width: 110, csv: "lost_at_tap", cell: (call) => <Captured call={call} /> },
  { id: "answer", title: "Answered", help: "Time of the 2xx response", width: 92, csv: "answer", cell: (call) => <Time at={call.answer} shape="clock" /> },
  { id: "end", title: "Ended", help: "When the call ended", width: 92, csv: "end", cell: (call) => <Time at={call.end} shape="clock" /> },
  { id: "callid", title: "Call-ID", help: "Call-ID header field", width: 240, csv: "sip_call_id", cell: (call) => <span class="clip mono" title={call.sip_call_id}>{call.sip_call_id}</span>, test: (call) => ({ field: "callid", value: call.sip_call_id }) },
];

export const columnOf = (id: string): Column | undefined => COLUMNS.find((column) => column.id === id);

function Verdict(props: { call: Call }): JSX.Element {
  return (
    <span class="clip verdict" title={props.call.verdict ?? undefined}>
      {props.call.verdict && (
        <span class="warn-ink">
          <Icon name="warn" size={13} />
        </span>
      )}
      <span class="clip" classList={{ muted: !props.call.verdict }}>
        {props.call.verdict ?? NONE}
      </span>
    </span>
  );
}

function Captured(props: { call: Call }): JSX.Element {
  const lost = (): number => props.call.capture.lost_at_tap;
  return (
    <span class="clip" classList={{ "warn-ink": !props.call.capture.complete }} title={props.call.capture.note ?? undefined}>
      {props.call.capture.complete ? "whole" : lost() > 0 ? `lost ${whole(lost())}` : "incomplete"}
    </span>
  );
}
