// One row of a ladder: a message as an arrow, or a stream that begins as a band.

import { createMemo, For, Show, type JSX } from "solid-js";
import type { LadderMessage, Stream } from "../../api/types";
import { duration, percent, score, scoreRange } from "../../format";
import { ms } from "../../time";
import { ABOVE_FROM, type Drawn } from "./ladder";
import { fit, labelMiddle, labelOn, textWidth, type Sizes } from "./layout";
import { shortName } from "./names";
import { membersOf, type BeginRow, type MessageRow } from "./rows";
import { details, said, toneOf } from "./said";
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
  const hosts = (): string => `${shortName(props.nameOfHost(message().src))} → ${shortName(props.nameOfHost(message().dst))}`;
  const above = (): boolean => props.sizes.row >= ABOVE_FROM;
  const size = (): number => (letters(props.sizes));
  const label = createMemo(() => {
    const [left, right] = edges(props);
    const parts = partsOf(message(), foldsOf(props.row, props.view.call().ladder.messages));
    const ends = from() === to() ? { from: from(), to: from() + LOOP } : { from: within(from(), left, right), to: within(to(), left, right) };
    if (Math.max(from(), to()) < left || Math.min(from(), to()) > right) return outOfSight(parts, size(), left, right, Math.min(from(), to()) > right, hosts());
    return above() ? aboveArrow(parts, ends, size(), left, right) : onArrow(parts, ends, size(), left, right);
  });
  const spoken = (): string => {
    const written = label().parts.map((part) => part.text).join("").replace(/\s+/g, " ").trim();
    return `${written}, ${details(message(), props.nameOfHost(message().src), props.nameOfHost(message().dst))}${evidence() ? ", evidence of the verdict" : ""}`;
  };
  /** The arrow, left out where its label stands on it. */
  const line = (): string => {
    if (from() === to()) return `M${from()} ${y() - 4}h${LOOP}v8h${-LOOP + 4}`;
    const hole = label().hole;
    const [begin, end] = outside(props, Math.min(from(), to()), Math.max(from(), to()));
    return hole ? `M${begin} ${y()}H${hole[0]}M${hole[1]} ${y()}H${end}` : `M${begin} ${y()}H${end}`;
  };
  const open = (): void => {
    props.view.choose(props.row.index);
    props.view.setOpen(true);
  };
  return (
    <g
      // Not the name of the address's hash: the browser would scroll there by itself.
      id={`message-${props.row.index + 1}`}
      class={`message ${toneOf(message())}`}
      classList={{ chosen: chosen(), evidence: evidence(), again: message().retransmission, copy: message().copy }}
      role="option"
      aria-selected={chosen()}
      aria-label={spoken()}
      onClick={open}
    >
      <rect class="ground" x={props.window.left} y={props.layout.top[props.at]!} width={props.window.width} height={props.sizes.row} />
      <Show when={evidence()}>
        <path class="pointer" d={`M${props.window.left + 2} ${y() - 5}l8 5l-8 5z`} />
      </Show>
      <path class="line" d={line()} />
      <Show when={to() >= edges(props)[0] - 4}>
        <path class="head" d={head(from() === to() ? from() + 1 : to(), from() === to() ? y() + 4 : y(), from() < to() ? 1 : -1)} />
      </Show>
      <text class="label" aria-hidden="true" x={label().x} y={above() ? y() - 6 : y() + 4} text-anchor={label().anchor} font-size={`${size()}px`}>
        <For each={label().parts}>{(part) => <Part part={part} unfold={() => props.unfold(props.row.index)} />}</For>
      </text>
    </g>
  );
}

/** Size of the letters on arrows, pixels. */
const letters = (sizes: Sizes): number => (sizes.row < 12 ? 10.5 : sizes.row < 18 ? 11 : 12);

const head = (x: number, y: number, way: 1 | -1): string => `M${x} ${y}l${-7 * way} -4v8z`;

/** Between what is visible of the picture labels have their place. */
const edges = (props: Drawn): [number, number] => [props.window.left + props.sizes.times, props.window.left + props.window.width];

const within = (x: number, left: number, right: number): number => Math.min(Math.max(x, left), right);

/** Nothing is drawn over the times, which stay while one scrolls to the side. */
const outside = (props: Drawn, begin: number, end: number): [number, number] => [Math.max(begin, edges(props)[0] - 4), Math.max(end, edges(props)[0] - 4)];

/** Both ends are beyond the edge: what it is, and where it is to be found. */
function outOfSight(parts: Part[], size: number, left: number, right: number, isRight: boolean, hosts: string): Placed {
  const shown = fitting(parts.filter(isNeeded), (right - left) / 2, size);
  const where: Part = { kind: "cseq", text: isRight ? `  ${hosts} ›` : `‹ ${hosts}  ` };
  return { x: isRight ? right - 8 : left + 8, anchor: isRight ? "end" : "start", hole: undefined, parts: isRight ? [...shown, where] : [where, ...shown] };
}

interface Part {
  kind: "mark" | "what" | "cseq" | "gap" | "fold" | "more";
  text: string;
  /** What is said instead where there is little room. */
  brief?: string;
  odd?: boolean;
}

function Part(props: { part: Part; unfold: () => void }): JSX.Element {
  const unfold = (event: MouseEvent): void => {
    if (props.part.kind !== "fold") return;
    event.stopPropagation();
    props.unfold();
  };
  return (
    <tspan class={props.part.kind} classList={{ odd: props.part.odd ?? false }} onClick={unfold}>
      {props.part.text}
    </tspan>
  );
}

/** What an arrow says: the most important first. */
function partsOf(message: LadderMessage, folds: Fold[]): Part[] {
  const { what, cseq, more } = said(message);
  const again = message.copy ? " copy" : message.retransmission ? " again" : "";
  const parts: Part[] = message.odd || message.cut ? [{ kind: "mark", text: "⚠ " }] : [];
  parts.push({ kind: "what", text: what + again }, { kind: "cseq", text: ` (${cseq})` });
  for (const fold of folds) parts.push({ kind: "gap", text: "\u2002" }, { kind: "fold", text: `[${fold.text}]`, brief: `[${fold.brief}]` });
  if (more) parts.push({ kind: "more", text: ` ${more}`, odd: message.odd });
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
  const shown = fitting(parts, Math.min(right - left, Math.max(Math.abs(to - from) - 20, ABOVE_ROOM)), size);
  return { x: labelMiddle(from, to, widthOf(shown, size), left, right), anchor: "middle", hole: undefined, parts: shown };
}

/** On its arrow as much as fits; beside it, if not even what it is fits there. */
function onArrow(all: Part[], { from, to }: { from: number; to: number }, size: number, left: number, right: number): Placed {
  const full = widthOf(all.filter(isNeeded), size);
  const parts = full > labelOn(from, to, full, left, right).room ? all.map((part) => ({ ...part, text: part.brief ?? part.text })) : all;
  const least = widthOf(parts.filter(isNeeded), size);
  const { room, anchor } = labelOn(from, to, least, left, right);
  const shown = fitting(parts, room, size);
  const { x, hole } = labelOn(from, to, anchor === "middle" ? widthOf(shown, size) : least, left, right);
  return { x, anchor, hole, parts: shown };
}

const isNeeded = (part: Part): boolean => part.kind !== "more" && part.kind !== "cseq";

/** The parts that fit. What there is more to say is shortened or left out first, then the CSeq. */
function fitting(parts: Part[], room: number, size: number): Part[] {
  if (widthOf(parts, size) <= room) return parts;
  const more = parts.find((part) => part.kind === "more");
  const rest = parts.filter((part) => part.kind !== "more");
  const left = room - widthOf(rest, size);
  if (more && left > MORE_ROOM) return [...rest, { ...more, text: fit(more.text, left, size) }];
  return left >= 0 ? rest : parts.filter(isNeeded);
}

/** Least room in which the beginning of what there is more to say makes sense. */
const MORE_ROOM = 50;

interface Fold {
  text: string;
  brief: string;
}

/** What is folded into a row: "×7 in 31.5 s", "+100", "+2 copies". */
function foldsOf(row: MessageRow, messages: LadderMessage[]): Fold[] {
  const folds: Fold[] = [];
  const until = (indices: number[]): string => ` in ${duration(ms(messages[indices.at(-1)!]!.at) - row.at)}`;
  const copies = row.again.filter((index) => messages[index]!.copy).length;
  const repeats = row.again.length - copies;
  if (repeats > 0) folds.push({ text: `×${repeats + 1}${until(row.again)}`, brief: `×${repeats + 1}` });
  if (copies > 0) folds.push({ text: copies === 1 ? "+copy" : `+${copies} copies`, brief: `+${copies}c` });
  if (row.trying.length > 0) folds.push({ text: "+100", brief: "+100" });
  if (row.run.length > 0) folds.push({ text: `+${row.run.length}${until(row.run)}`, brief: `+${row.run.length}` });
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
  const size = (): number => (letters(props.sizes));
  const label = createMemo(() => {
    const [left, right] = edges(props);
    const bad = stream().mos.g107 !== null && stream().mos.g107! < 3.6;
    const [first = "", ...more] = streamParts(stream());
    const parts: Part[] = [...(bad ? [{ kind: "mark" as const, text: "⚠ " }] : []), { kind: "what", text: first }, { kind: "more", text: ` · ${more.join(" · ")}` }];
    const ends = { from: within(from(), left, right), to: within(to(), left, right) };
    // Better whole beside its arrow than cut on it.
    if (above()) return aboveArrow(parts, ends, size(), left, right);
    // Not across the line of another host.
    const [before, after] = [Math.min(ends.from, ends.to), Math.max(ends.from, ends.to)];
    const [near, far] = [Math.max(left, ...props.layout.x.filter((x) => x < before)), Math.min(right, ...props.layout.x.filter((x) => x > after))];
    const whole = widthOf(parts, size());
    const beside = labelOn(ends.from, ends.to, whole, near, far);
    if (whole <= beside.room) return { ...beside, parts };
    // As many of its figures as fit on it.
    const room = after - before - 28;
    const fits = more.map((_, dropped) => more.slice(0, more.length - dropped)).find((some) => textWidth([first, ...some].join(" · "), size()) + (bad ? 2 * size() : 0) <= room);
    const brief = fits ? parts.map((part) => (part.kind === "more" ? { ...part, text: ` · ${fits.join(" · ")}` } : part)) : parts;
    return onArrow(brief, ends, size(), left, right);
  });
  const rails = (y: number): string => {
    const [begin, end] = outside(props, ...(way() > 0 ? ([from(), to() - 9] as const) : ([to() + 9, from()] as const)));
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

/** What carries it: fax goes over UDPTL. */
function carrier(stream: Stream): string {
  if (stream.codec === "T.38") return "UDPTL";
  return stream.encrypted ? "SRTP" : "RTP";
}

/** "RTP PCMA, 0.3 % lost, MOS 4.12, DTMF 12#" */
function streamParts(stream: Stream): string[] {
  const missing = stream.expected > 0 ? stream.missing / stream.expected : 0;
  const mos = stream.mos_range ? `MOS ${scoreRange(stream.mos_range)}` : `MOS ${score(stream.mos.g107)}`;
  const reports = stream.rtcp.sender_reports + stream.rtcp.receiver_reports;
  const parts = [
    `${carrier(stream)} ${stream.codec ?? ""}`.trim(),
    missing > 0 ? `${percent(missing, missing < 0.001 ? 2 : 1)} lost` : "0 lost",
    mos,
    reports > 0 ? "RTCP" : "no RTCP",
    stream.dtmf ? `DTMF ${stream.dtmf}` : "",
  ];
  return parts.filter(Boolean);
}
