// What the parts of the page share: which message is chosen, which instant the pointer is at, which span is zoomed. What
// others should see, too, when they get the link stands in the address: #m12 and ?span=12.3-45.6 (seconds of the call).

import { useLocation, useNavigate, useSearchParams } from "@solidjs/router";
import { createMemo, createSignal, type Accessor } from "solid-js";
import type { CallWithLadder } from "../../api/types";
import { ms } from "../../time";
import { formatSpan, parseHash, parseSpan, SPAN_MIN } from "./address";

export interface View {
  call: Accessor<CallWithLadder>;
  /** Milliseconds since 1970 at which the call and its media begin and end. */
  bounds: Accessor<[number, number]>;
  /** Index of the chosen message. */
  chosen: Accessor<number | undefined>;
  choose: (index: number | undefined) => void;
  /** Whether the chosen message is shown in full. */
  open: Accessor<boolean>;
  setOpen: (open: boolean) => void;
  /** Index of the message that it is compared with. */
  beside: Accessor<number | undefined>;
  setBeside: (index: number | undefined) => void;
  /** The instant under the pointer, milliseconds since 1970. */
  cursor: Accessor<number | undefined>;
  setCursor: (at: number | undefined) => void;
  /** The zoomed span; none shows everything. */
  span: Accessor<[number, number] | undefined>;
  zoom: (from: number, to: number) => void;
  reset: () => void;
  /** An instant that is to be seen in the ladder. */
  shownAt: Accessor<number | undefined>;
  showAt: (at: number) => void;
  /** Number of the message with this packet. */
  ofPacket: (packet: number) => number | undefined;
}

export function createView(call: Accessor<CallWithLadder>): View {
  const place = useLocation();
  const navigate = useNavigate();
  const [search, setSearch] = useSearchParams<{ span?: string; with?: string }>();
  const chosen = createMemo(() => parseHash(place.hash, call().ladder.messages.length));
  const [open, setOpen] = createSignal(chosen() !== undefined);
  const [cursor, setCursor] = createSignal<number | undefined>();
  const [shownAt, setShownAt] = createSignal<number | undefined>(undefined, { equals: false });
  const bounds = createMemo(() => boundsOf(call()));
  const packets = createMemo(() => new Map(call().ladder.messages.map((message, index) => [message.packet, index])));
  const choose = (index: number | undefined): void => {
    navigate(place.pathname + withoutCompare(place.search) + (index === undefined ? "" : `#m${index + 1}`), { replace: true, scroll: false });
    if (index === undefined) setOpen(false);
  };
  const zoom = (from: number, to: number): void => {
    const [start, end] = bounds();
    const [first, last] = [Math.max(start, Math.min(from, to)), Math.min(end, Math.max(from, to))];
    if (last - first >= SPAN_MIN) setSearch({ span: formatSpan(first - start, last - start) }, { replace: true, scroll: false });
  };
  return {
    call, bounds, chosen, choose, open, setOpen, cursor, setCursor, zoom, shownAt,
    beside: () => parseHash(`#m${search.with ?? ""}`, call().ladder.messages.length),
    setBeside: (index) => setSearch({ with: index === undefined ? undefined : String(index + 1) }, { replace: true, scroll: false }),
    span: createMemo(() => parseSpan(search.span, bounds())),
    reset: () => setSearch({ span: undefined }, { replace: true, scroll: false }),
    showAt: (at) => {
      setShownAt(at);
      setCursor(at);
    },
    ofPacket: (packet) => packets().get(packet),
  };
}

function boundsOf(call: CallWithLadder): [number, number] {
  const firsts = [call.start, ...call.streams.map((stream) => stream.first)].map(ms);
  const lasts = [call.last, call.end ?? call.start, ...call.streams.map((stream) => stream.last)].map(ms);
  const [from, to] = [Math.min(...firsts), Math.max(...lasts)];
  return [from, Math.max(to, from + SPAN_MIN)];
}

/** Another message is not compared with what the one before was. */
function withoutCompare(search: string): string {
  const query = new URLSearchParams(search);
  query.delete("with");
  const text = query.toString();
  return text ? `?${text}` : "";
}
