// One row of a ladder: a message as an arrow, or a stream that begins as a band.

import { createMemo, For, Show, type JSX } from "solid-js";
import type { LadderMessage, Stream } from "../../api/types";
import { duration, percent, score } from "../../format";
import { ms } from "../../time";
import { ABOVE_FROM, type Drawn } from "./ladder";
import { fit, labelMiddle, labelOn, textWidth } from "./layout";
import { membersOf, type BeginRow, type MessageRow } from "./rows";
import { said, sentence, toneOf } from "./said";
import { lookOf } from "./series";

/** Half of the width of an arrow that comes back to its own host. */
const LOOP = 26;

export function Arrow(props: Drawn & { row: MessageRow; at: number }): JSX.Element {
  const message = (): LadderMessage => props.view.call().ladder.messages[props.row.index]!;
  const from = (): number => props.layout.x[props.ofHost[message().src] ?? 0] ?? 0;
  const to = (): number => props.layout.x[props.ofHost[message().dst] ?? 0] ?? 0;
  const y = (): number => props.layout.middle[props.at]!;
  const members = (): number[] => membersOf(props.row);
  const chosen = (): boolean => members().includes(props.view.chosen() ?? -1);
  const evidence = (): boolean => members().some((index) => props.evidence.has(props.view.call().ladder.messages[index]!.packet));
  const above = (): boolean => props.sizes.row >= ABOVE_FROM;
  const size = (): number => (props.sizes.row < 18 ? 11 : 12);
  const label = createMemo(() => {
    const [left, right] = [props.window.left + props.sizes.times, Math.max(props.layout.width, props.window.width)];
    const parts = partsOf(message(), foldsOf(props.row, props.view.call().ladder.messages));
    const ends = from() === to() ? { from: from(), to: from() + LOOP } : { from: from(), to: to() };
    return above() ? aboveArrow(parts, ends, size(), left, right) : onArrow(parts, ends, size(), left, right);
  });
  /** The arrow, left out where its label stands on it. */
  const line = (): string => {
    if (from() === to()) return `M${from()} ${y() - 4}h${LOOP}v8h${-LOOP + 4}`;
    const hole = label().hole;
    const [begin, end] = [Math.min(from(), to()), Math.max(from(), to())];
    return hole ? `M${begin} ${y()}H${hole[0]}M${hole[1]} ${y()}H${end}` : `M${begin} ${y()}H${end}`;
  };
  const open = (): void => {
    props.view.choose(props.row.index);
    props.view.setOpen(true);
  };
  return (
    <g
      id={`m${props.row.index + 1}`}
      class={`message ${toneOf(message())}`}
      classList={{ chosen: chosen(), evidence: evidence(), again: message().retransmission, copy: message().copy }}
      role="option"
      aria-selected={chosen()}
      aria-label={sentence(message(), props.nameOfHost(message().src), props.nameOfHost(message().dst))}
      onClick={open}
    >
      <rect class="ground" x={props.window.left} y={props.layout.top[props.at]!} width={props.window.width} height={props.sizes.row} />
      <Show when={evidence()}>
        <path class="pointer" d={`M${props.window.left + 2} ${y() - 5}l8 5l-8 5z`}>
          <title>Evidence of the verdict</title>
        </path>
      </Show>
      <path class="line" d={line()} />
      <path class="head" d={head(from() === to() ? from() + 1 : to(), from() === to() ? y() + 4 : y(), from() < to() ? 1 : -1)} />
      <text class="label" x={label().x} y={above() ? y() - 6 : y() + 4} text-anchor={label().anchor} font-size={`${size()}px`}>
        <For each={label().parts}>{(part) => <Part part={part} unfold={() => props.unfold(props.row.index)} />}</For>
      </text>
      <title>{sentence(message(), props.nameOfHost(message().src), props.nameOfHost(message().dst))}</title>
    </g>
  );
}

const head = (x: number, y: number, way: 1 | -1): string => `M${x} ${y}l${-7 * way} -4v8z`;

interface Part {
  kind: "mark" | "what" | "minor" | "odd" | "fold";
  text: string;
}

function Part(props: { part: Part; unfold: () => void }): JSX.Element {
  const unfold = (event: MouseEvent): void => {
    if (props.part.kind !== "fold") return;
    event.stopPropagation();
    props.unfold();
  };
  return (
    <tspan class={props.part.kind} onClick={unfold}>
      {props.part.text}
    </tspan>
  );
}

/** What an arrow says: the most important first. */
function partsOf(message: LadderMessage, folds: string[]): Part[] {
  const { what, cseq, more } = said(message);
  const again = message.copy ? " copy" : message.retransmission ? " again" : "";
  const parts: Part[] = message.odd || message.cut ? [{ kind: "mark", text: "⚠ " }] : [];
  parts.push({ kind: "what", text: what + again }, { kind: "minor", text: ` (${cseq})` });
  parts.push(...folds.map((text): Part => ({ kind: "fold", text: `\u2002${text}` })));
  if (more) parts.push({ kind: message.odd ? "odd" : "minor", text: ` ${more}` });
  return parts;
}

interface Placed {
  x: number;
  anchor: "middle" | "start" | "end";
  hole: [number, number] | undefined;
  parts: Part[];
}

const widthOf = (parts: Part[], size: number): number => parts.reduce((sum, part) => sum + textWidth(part.text, size), 0);

/** Least room of a label above its arrow: it may stand over the lines beside it. */
const ABOVE_ROOM = 200;

function aboveArrow(parts: Part[], { from, to }: { from: number; to: number }, size: number, left: number, right: number): Placed {
  const shown = within(parts, Math.min(right - left, Math.max(Math.abs(to - from) - 20, ABOVE_ROOM)), size);
  return { x: labelMiddle(from, to, widthOf(shown, size), left, right), anchor: "middle", hole: undefined, parts: shown };
}

/** On its arrow as much as fits; beside it, if not even what it is fits there. */
function onArrow(parts: Part[], { from, to }: { from: number; to: number }, size: number, left: number, right: number): Placed {
  const least = widthOf(parts.filter((part) => part.kind !== "minor" && part.kind !== "odd"), size);
  const { room, anchor } = labelOn(from, to, least, left, right);
  const shown = within(parts, room, size);
  const { x, hole } = labelOn(from, to, anchor === "middle" ? widthOf(shown, size) : least, left, right);
  return { x, anchor, hole, parts: shown };
}

/** The parts that fit; the last one, what there is more to say, is shortened. */
function within(parts: Part[], room: number, size: number): Part[] {
  const last = parts.at(-1)!;
  const fixed = parts.slice(0, -1);
  const left = room - widthOf(fixed, size);
  if (widthOf([last], size) <= left) return parts;
  if (last.text.startsWith(" ") && !last.text.startsWith(" (") && left > 50) return [...fixed, { ...last, text: fit(last.text, left, size) }];
  return widthOf(fixed, size) <= room ? fixed : fixed.filter((part) => part.kind !== "minor");
}

/** What is folded into a row: "×7 in 31.5 s", "+100", "+2 copies". */
function foldsOf(row: MessageRow, messages: LadderMessage[]): string[] {
  const folds: string[] = [];
  const copies = row.again.filter((index) => messages[index]!.copy).length;
  const repeats = row.again.length - copies;
  if (repeats > 0) folds.push(`×${repeats + 1} in ${duration(ms(messages[row.again.at(-1)!]!.at) - row.at)}`);
  if (copies > 0) folds.push(copies === 1 ? "+copy" : `+${copies} copies`);
  if (row.trying.length > 0) folds.push("+100");
  if (row.run.length > 0) folds.push(`+${row.run.length} in ${duration(ms(messages[row.run.at(-1)!]!.at) - row.at)}`);
  return folds;
}

/** Where a stream begins: a band to its receiver, with what it is and how it did. */
export function BeginArrow(props: Drawn & { row: BeginRow; at: number }): JSX.Element {
  const stream = (): Stream => props.view.call().streams[props.row.stream]!;
  const ends = (): { from: number; to: number } => props.ofStream[props.row.stream] ?? { from: 0, to: 0 };
  const from = (): number => props.layout.x[ends().from] ?? 0;
  const to = (): number => (ends().from === ends().to ? from() + 90 : (props.layout.x[ends().to] ?? 0));
  const way = (): 1 | -1 => (to() >= from() ? 1 : -1);
  const y = (): number => props.layout.middle[props.at]!;
  const look = (): ReturnType<typeof lookOf> => lookOf(props.row.stream);
  const above = (): boolean => props.sizes.row >= ABOVE_FROM;
  const size = (): number => (props.sizes.row < 18 ? 11 : 12);
  const label = createMemo(() => {
    const [left, right] = [props.window.left + props.sizes.times, Math.max(props.layout.width, props.window.width)];
    const bad = stream().mos.g107 !== null && stream().mos.g107! < 3.6;
    const [first = "", ...more] = streamParts(stream());
    const parts: Part[] = [...(bad ? [{ kind: "mark" as const, text: "⚠ " }] : []), { kind: "what", text: first }, { kind: "what", text: ` · ${more.join(" · ")}` }];
    const ends = { from: from(), to: to() };
    if (above()) return aboveArrow(parts, ends, size(), left, right);
    return onArrow(parts, ends, size(), left, right);
  });
  const rails = (y: number): string => {
    const [begin, end] = way() > 0 ? [from(), to() - 9] : [to() + 9, from()];
    const hole = label().hole;
    return hole ? `M${begin} ${y}H${hole[0]}M${hole[1]} ${y}H${end}` : `M${begin} ${y}H${end}`;
  };
  return (
    <g class="begin" style={{ color: `var(${look().color})` }} aria-hidden="true">
      <path class="rail" d={rails(y() - 2.5)} stroke-dasharray={look().dash?.join(" ")} />
      <path class="rail" d={rails(y() + 2.5)} stroke-dasharray={look().dash?.join(" ")} />
      <path class="head" d={`M${to()} ${y()}l${-11 * way()} -6v12z`} />
      <text class="label" x={label().x} y={above() ? y() - 8 : y() + 4} text-anchor={label().anchor} font-size={`${size()}px`}>
        <For each={label().parts}>{(part) => <tspan class={part.kind}>{part.text}</tspan>}</For>
        <title>{streamParts(stream()).join(" · ")}</title>
      </text>
    </g>
  );
}

/** "RTP PCMA, 0.3 % missing, MOS 4.12, DTMF 12#" */
function streamParts(stream: Stream): string[] {
  const missing = stream.expected > 0 ? stream.missing / stream.expected : 0;
  const mos = stream.mos_range ? `MOS ${stream.mos_range.low.toFixed(1)}–${stream.mos_range.high.toFixed(1)}` : `MOS ${score(stream.mos.g107)}`;
  const reports = stream.rtcp.sender_reports + stream.rtcp.receiver_reports;
  const parts = [
    `${stream.encrypted ? "SRTP" : "RTP"} ${stream.codec ?? ""}`.trim(),
    missing > 0 ? `${percent(missing, missing < 0.001 ? 2 : 1)} missing` : "0 missing",
    mos,
    reports > 0 ? "RTCP" : "no RTCP",
    stream.dtmf ? `DTMF ${stream.dtmf}` : "",
  ];
  return parts.filter(Boolean);
}
