// The ladder: hosts as columns, messages as arrows, streams as ribbons. Only what is visible is drawn, so that a
// thousand messages or 255 hosts scroll as easily as ten.

import { createEffect, createMemo, createSignal, For, on, onCleanup, onMount, Show, type JSX } from "solid-js";
import { aliasOf, portOf } from "../../aliases";
import type { CallWithLadder, StreamIntervals } from "../../api/types";
import { Icon } from "../../parts/icon";
import { useKeys } from "../../parts/keys";
import { ms } from "../../time";
import { columnsOf, type Column } from "./columns";
import { Picture } from "./picture";
import { layOut, visible, type Layout, type Sizes } from "./layout";
import { shortName } from "./names";
import { rowOfMessage, rowsOf, type Row } from "./rows";
import type { View } from "./view";
import "./ladder.css";

/** Messages from which on repetitions are folded and rows made to fit, unless the viewer wants otherwise. */
const DENSE_FROM = 24;
/** Heights of a row that can be chosen, pixels. */
const HEIGHTS = [15, 18, 22, 28, 34, 42];
/** Least height of a row when all rows are made to fit, pixels: letters of 10.5 pixels just do not touch. */
const FIT_MIN = 11.25;
/** Above and below the rows when the ladder is as high as the window: its head, the hosts in one line, the foot, pixels. */
const AROUND = 62 + 28 + 16;
/** Height of a row below which the hosts stand in one line. */
const ONE_LINE_BELOW = 15;
/** Height from which on labels stand above their arrows. */
export const ABOVE_FROM = 26;
/** Pixels drawn beyond what is visible. */
const BEYOND = 200;
/** Width below which it is drawn as on a phone. */
const NARROW = 560;

export interface Drawn {
  view: View;
  rows: Row[];
  layout: Layout;
  sizes: Sizes;
  columns: Column[];
  ofHost: number[];
  ofStream: { from: number; to: number }[];
  nameOfHost: (host: number) => string;
  intervals: StreamIntervals[];
  evidence: Set<number>;
  /** Rows to draw: [first, end). */
  shown: [number, number];
  /** What is visible from left to right. */
  window: Across;
  unfold: (index: number) => void;
}

interface Across {
  left: number;
  width: number;
}

interface Window extends Across {
  top: number;
  height: number;
}

export function Ladder(props: { view: View; intervals: StreamIntervals[] }): JSX.Element {
  let scroller: HTMLDivElement | undefined;
  const call = (): CallWithLadder => props.view.call();
  const many = (): boolean => call().ladder.messages.length > DENSE_FROM;
  const [fold, setFold] = createSignal(many());
  // A finger needs rows that it can hit, and a phone scrolls anyway.
  const [height, setHeight] = createSignal<number | "fit">(many() && window.innerWidth >= 640 ? "fit" : 34);
  const [unfolded, setUnfolded] = createSignal<ReadonlySet<number>>(new Set<number>());
  const [seen, setSeen] = createSignal<Window>({ left: 0, top: 0, width: 700, height: 600 });

  // Scrolling down changes which rows are drawn, not how: only what is to the sides matters to each.
  const across = createMemo(() => ({ left: seen().left, width: seen().width }), undefined, { equals: (a, b) => a.left === b.left && a.width === b.width });

  const columns = createMemo(() => columnsOf(call().ladder, call().streams));
  const rows = createMemo(() => rowsOf(call().ladder.messages, call().streams, { dense: fold(), open: unfolded() }));
  const rowOf = createMemo(() => rowOfMessage(rows(), call().ladder.messages.length));
  const sizes = createMemo(() => sizesOf(seen().width, columns().columns.length, rows(), height()), undefined, { equals: sameSizes });
  const spans = createMemo(() => call().streams.map((stream) => ({ first: ms(stream.first), last: ms(stream.last) })));
  const layout = createMemo(() => layOut(rows(), columns(), spans(), sizes()));
  const shown = createMemo(() => visible(layout().top, seen().top - BEYOND, seen().top + seen().height + BEYOND), undefined, { equals: (a, b) => a[0] === b[0] && a[1] === b[1] });

  const look = (): void => {
    if (scroller) setSeen({ left: scroller.scrollLeft, top: scroller.scrollTop, width: scroller.clientWidth, height: scroller.clientHeight });
  };
  onMount(() => {
    const size = new ResizeObserver(look);
    size.observe(scroller!);
    onCleanup(() => size.disconnect());
  });

  const step = (by: 1 | -1): void => {
    const messages = rows().flatMap((row) => (row.kind === "message" ? [row.index] : []));
    const chosen = props.view.chosen();
    const at = chosen === undefined ? (by > 0 ? -1 : messages.length) : messages.findIndex((index) => rowOf()[index] === rowOf()[chosen]);
    const next = messages[Math.min(messages.length - 1, Math.max(0, at + by))];
    if (next !== undefined) props.view.choose(next);
  };
  useKeys([
    { keys: "ArrowDown", what: "Next message", run: () => step(1) },
    { keys: "j", what: "Next message", run: () => step(1) },
    { keys: "ArrowUp", what: "Previous message", run: () => step(-1) },
    { keys: "k", what: "Previous message", run: () => step(-1) },
    { keys: "Enter", what: "Open the message", run: () => (props.view.chosen() === undefined ? step(1) : props.view.setOpen(true)) },
  ]);
  createEffect(
    on(props.view.chosen, (chosen) => {
      const message = chosen === undefined ? undefined : call().ladder.messages[chosen];
      if (!message) return;
      // After the page has its size, and the frame has gone to its top.
      requestAnimationFrame(() => {
        const ends = [message.src, message.dst].map((host) => layout().x[columns().ofHost[host] ?? 0] ?? 0);
        reveal(scroller, layout(), rowOf()[chosen!] ?? 0, Math.min(...ends), sizes().times);
      });
    }),
  );
  createEffect(
    on(props.view.shownAt, (at) => {
      if (at === undefined || !scroller) return;
      scroller.scrollTop = layout().yOf(at) - scroller.clientHeight / 2;
      scroller.scrollIntoView({ block: "nearest" });
    }),
  );
  const evidence = createMemo(() => new Set(call().verdict_packets));
  const drawn: Drawn = {
    get view() { return props.view; },
    get rows() { return rows(); },
    get layout() { return layout(); },
    get sizes() { return sizes(); },
    get columns() { return columns().columns; },
    get ofHost() { return columns().ofHost; },
    get ofStream() { return columns().ofStream; },
    get intervals() { return props.intervals; },
    get shown() { return shown(); },
    get window() { return across(); },
    nameOfHost: (host) => nameOfColumn(columns().columns[columns().ofHost[host] ?? 0]),
    get evidence() { return evidence(); },
    unfold: (index) => setUnfolded((before) => new Set([...before, index])),
  };
  return (
    <section class="panel ladder" aria-label="Ladder">
      <header>
        <h2>Ladder</h2>
        <span class="muted">{counted(call().messages, call().ladder.not_kept)}</span>
        <Tools fold={fold()} setFold={(on) => { setFold(on); setUnfolded(new Set<number>()); }} height={height()} row={sizes().row} setHeight={setHeight} />
      </header>
      <div ref={scroller} class="ladder-scroll" onScroll={look}>
        <Hosts layout={layout()} columns={columns().columns} window={across()} oneLine={sizes().row < ONE_LINE_BELOW} />
        <Picture {...drawn} />
      </div>
    </section>
  );
}

const counted = (messages: number, notKept: number): string => `${messages} message${messages === 1 ? "" : "s"}${notKept > 0 ? `, ${notKept} of them not stored` : ""}`;

function sizesOf(width: number, columns: number, rows: Row[], height: number | "fit"): Sizes {
  const narrow = width < NARROW;
  const row = height === "fit" ? fitting(rows) : height;
  const gap = typeof height === "number" && height >= ABOVE_FROM ? 22 : Math.min(15, row);
  const many = columns > 12;
  return { width, times: narrow ? 48 : 82, columnMin: many ? 64 : narrow ? 72 : 120, gap, row };
}

const sameSizes = (a: Sizes, b: Sizes): boolean => a.width === b.width && a.row === b.row && a.gap === b.gap && a.columnMin === b.columnMin;

/** The row's height with which everything fits on the screen, as long as one can read it. */
function fitting(rows: Row[]): number {
  const quarters = Math.floor(((window.innerHeight - AROUND) * 4) / Math.max(1, rows.length));
  return Math.max(FIT_MIN, Math.min(34, quarters / 4));
}

/** Scrolls so that a row, and the left end of its arrow, are seen. */
function reveal(scroller: HTMLDivElement | undefined, layout: Layout, row: number, x: number, times: number): void {
  if (!scroller) return;
  const [top, bottom] = [layout.top[row] ?? 0, layout.top[row + 1] ?? 0];
  // Of the names above the columns.
  const head = 48;
  const beyond = bottom - (scroller.scrollTop + scroller.clientHeight - head);
  if (top < scroller.scrollTop || beyond > 200) scroller.scrollTop = Math.max(0, top - 80);
  else if (beyond > 0) scroller.scrollTop += beyond + 40;
  const seenAt = scroller.getBoundingClientRect().top + head + top - scroller.scrollTop;
  const [high, low] = [96, window.innerHeight - 96];
  if (seenAt < high || seenAt > low) window.scrollBy(0, seenAt < high ? seenAt - high : seenAt - low);
  const [left, right] = [scroller.scrollLeft + times, scroller.scrollLeft + scroller.clientWidth - 60];
  if (x < left || x > right) scroller.scrollLeft = x - times - 40;
}

export const nameOfColumn = (column: Column | undefined): string => (column ? (aliasOf(column.endpoints[0]) ?? column.address) : "unknown");

/** The names above the columns; they stay while one scrolls. */
function Hosts(props: { layout: Layout; columns: Column[]; window: Across; oneLine: boolean }): JSX.Element {
  const step = (): number => (props.layout.x[1] ?? props.layout.width) - (props.layout.x[0] ?? 0);
  const near = (): { column: Column; x: number }[] =>
    props.columns.flatMap((column, at) => {
      const x = props.layout.x[at]!;
      return x > props.window.left - BEYOND && x < props.window.left + props.window.width + BEYOND ? [{ column, x }] : [];
    });
  return (
    <div class="ladder-hosts" classList={{ "one-line": props.oneLine }} style={{ width: `${props.layout.width}px` }}>
      <For each={near()}>
        {({ column, x }) => (
          <div class="ladder-host" style={{ left: `${x}px`, width: `${Math.min(220, Math.max(56, step() - 6))}px` }} title={`${nameOfColumn(column)}\n${column.endpoints.join("\n")}`}>
            <b class="clip">{step() < 100 ? shortName(nameOfColumn(column)) : nameOfColumn(column)}</b>
            <span class="clip muted num">{addressLine(column)}</span>
          </div>
        )}
      </For>
    </div>
  );
}

/** Beneath an alias its address; beneath an address its ports. */
function addressLine(column: Column): string {
  if (column.mediaOnly) return aliasOf(column.endpoints[0]) ? `${column.address}, media` : "media only";
  const ports = column.endpoints.flatMap((endpoint) => portOf(endpoint) ?? []);
  const port = ports.length === 1 ? `:${ports[0]}` : ports.length > 1 ? `, ${ports.length} ports` : "";
  return aliasOf(column.endpoints[0]) ? `${column.address}${port}` : port.replace(/^, /, "");
}

interface ToolProps {
  fold: boolean;
  setFold: (on: boolean) => void;
  height: number | "fit";
  row: number;
  setHeight: (height: number | "fit") => void;
}

function Tools(props: ToolProps): JSX.Element {
  const step = (by: 1 | -1): void => {
    const next = by > 0 ? HEIGHTS.find((height) => height > props.row) : [...HEIGHTS].reverse().find((height) => height < props.row);
    if (next) props.setHeight(next);
  };
  useKeys([
    { keys: "+", what: "Zoom in", run: () => step(1) },
    { keys: "-", what: "Zoom out", run: () => step(-1) },
    { keys: "f", what: "Fold or unfold repeated messages", run: () => props.setFold(!props.fold) },
  ]);
  return (
    <div class="row ladder-tools">
      <button class="button" aria-pressed={props.fold} onClick={() => props.setFold(!props.fold)} title="Fold retransmissions, copies, 100 Trying and runs of OPTIONS (f)">
        Fold repeats
      </button>
      <button class="button" aria-pressed={props.height === "fit"} onClick={() => props.setHeight(props.height === "fit" ? 34 : "fit")} title="Fit the ladder to the screen">
        Fit
      </button>
      <Show when={HEIGHTS.length > 1}>
        <button class="button icon" onClick={() => step(-1)} disabled={props.row <= HEIGHTS[0]!} aria-label="Zoom out" title="Zoom out (-)">
          −
        </button>
        <button class="button icon" onClick={() => step(1)} disabled={props.row >= HEIGHTS.at(-1)!} aria-label="Zoom in" title="Zoom in (+)">
          <Icon name="plus" size={14} />
        </button>
      </Show>
    </div>
  );
}
