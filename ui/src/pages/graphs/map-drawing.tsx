// The map, drawn: it is dragged, zoomed by the buttons, by + and -, or by the wheel with Ctrl.

import { createEffect, createMemo, createSignal, For, on, onCleanup, onMount, Show, type JSX } from "solid-js";
import type { GraphMap, GraphMapNode } from "../../api/types";
import { of } from "../../format";
import { Icon } from "../../parts/icon";
import { useKeys } from "../../parts/keys";
import { centred, fitting, layout, line, nameDrawn, reach, signScale, whole, WORDS, zoomed, type Place, type Sight } from "./map-layout";
import { strands, type Strand } from "./map-words";
import { stateOf } from "./words";

/** Pixels that a pointer must be dragged before it is no click any more. */
const DRAG_MIN = 5;
const STEP = 1.3;
const SIGN = 8;
/** Pixels between a sign and the end of a line. */
const GAP = 4;
/** Below this scale addresses are left out: they could not be read. */
const FAR = 0.5;

interface DrawingProps {
  map: GraphMap;
  /** Those that a search has found; all where nothing is searched. */
  found: Set<string> | undefined;
  chosen: string | undefined;
  choose: (key: string | undefined) => void;
}

export function Drawing(props: DrawingProps): JSX.Element {
  let box: HTMLDivElement | undefined;
  const [size, setSize] = createSignal({ width: 0, height: 0 });
  const laid = createMemo(() => layout(props.map.nodes));
  const lines = createMemo(() => strands(props.map));
  const [sight, setSight] = createSignal<Sight | undefined>();
  const [drag, setDrag] = createSignal<{ x: number; y: number; from: Sight; moved: boolean } | undefined>();
  const all = (): void => void (size().width > 0 && setSight(whole(laid(), size().width, size().height)));
  onMount(() => {
    const watch = new ResizeObserver(([entry]) => {
      const { width, height } = entry?.contentRect ?? { width: 0, height: 0 };
      setSize({ width, height });
      if (!sight()) start();
    });
    watch.observe(box!);
    const wheel = (event: WheelEvent): void => {
      // Without Ctrl the wheel scrolls the page.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { left, top } = box!.getBoundingClientRect();
      zoom(event.deltaY < 0 ? STEP : 1 / STEP, { x: event.clientX - left, y: event.clientY - top });
    };
    box!.addEventListener("wheel", wheel, { passive: false });
    onCleanup(() => {
      watch.disconnect();
      box?.removeEventListener("wheel", wheel);
    });
  });
  /** All of it; where a device is chosen by the address, that one. */
  const start = (): void => {
    all();
    const place = laid().places.get(props.chosen ?? "");
    const now = sight();
    if (place && now && !isSeen(place)) setSight(centred({ ...now, scale: 1 }, place, size().width, size().height));
  };
  const isSeen = (place: Place): boolean => {
    const now = sight();
    if (!now) return false;
    const [x, y] = [(place.x - now.x) * now.scale, (place.y - now.y) * now.scale];
    return x > 0 && y > 0 && x < size().width - 80 && y < size().height;
  };
  createEffect(on(() => props.chosen, (key) => {
    const [place, now] = [laid().places.get(key ?? ""), sight()];
    if (place && now && !isSeen(place)) setSight(centred({ ...now, scale: Math.max(now.scale, 0.7) }, place, size().width, size().height));
  }, { defer: true }));
  const zoom = (factor: number, at = { x: size().width / 2, y: size().height / 2 }): void => void setSight((now) => now && zoomed(now, factor, at, fitting(laid(), size().width, size().height)));
  const pan = (x: number, y: number): void => void setSight((now) => now && { ...now, x: now.x + x / now.scale, y: now.y + y / now.scale });
  const byKey = (event: KeyboardEvent): void => {
    const keys: Record<string, () => void> = { "+": () => zoom(STEP), "=": () => zoom(STEP), "-": () => zoom(1 / STEP), "0": all, ArrowLeft: () => pan(-60, 0), ArrowRight: () => pan(60, 0), ArrowUp: () => pan(0, -60), ArrowDown: () => pan(0, 60) };
    const run = keys[event.key];
    if (!run) return;
    event.preventDefault();
    event.stopPropagation();
    run();
  };
  // Of the whole page, too: who opens it has not been in the drawing yet.
  useKeys([
    { keys: "+", what: "Zoom in", run: () => zoom(STEP) },
    { keys: "-", what: "Zoom out", run: () => zoom(1 / STEP) },
    { keys: "0", what: "Show the whole map", run: all },
  ]);
  const down = (event: PointerEvent): void => {
    const from = sight();
    if (event.button === 0 && from) setDrag({ x: event.clientX, y: event.clientY, from, moved: false });
  };
  const move = (event: PointerEvent): void => {
    const begun = drag();
    if (!begun) return;
    const [x, y] = [event.clientX - begun.x, event.clientY - begun.y];
    if (!begun.moved && Math.hypot(x, y) < DRAG_MIN) return;
    if (!begun.moved) box?.setPointerCapture(event.pointerId);
    setDrag({ ...begun, moved: true });
    setSight({ ...begun.from, x: begun.from.x - x / begun.from.scale, y: begun.from.y - y / begun.from.scale });
  };
  const transform = (): string => {
    const now = sight() ?? { x: 0, y: 0, scale: 1 };
    return `scale(${now.scale}) translate(${-now.x} ${-now.y})`;
  };
  const names = createMemo(() => new Map(props.map.nodes.map((node) => [node.key, reach(node.name, aboutOf(node))])));
  const sign = (): number => SIGN * signScale(sight()?.scale ?? 1);
  const isDim = (key: string): boolean => props.found !== undefined && !props.found.has(key);
  const isBeside = (strand: Strand): boolean => strand.a === props.chosen || strand.b === props.chosen;
  return (
    <div class="panel map-drawing">
      <div
        ref={box}
        class="map-box"
        classList={{ dragged: drag()?.moved ?? false }}
        role="img"
        aria-label={`Map of ${of(props.map.nodes.length, "device", "devices")} and ${of(props.map.links.length, "link", "links")}; the list shows the same. Arrow keys move the map, plus and minus zoom, 0 shows all.`}
        tabindex="0"
        onKeyDown={byKey}
        onPointerDown={down}
        onPointerMove={move}
        onPointerUp={() => setDrag(undefined)}
        onPointerCancel={() => setDrag(undefined)}
      >
        <svg width={size().width} height={size().height}>
          <g transform={transform()} classList={{ "map-far": (sight()?.scale ?? 1) < FAR }}>
            <For each={lines()}>{(strand) => <Line strand={strand} places={laid().places} reach={names()} sign={sign()} strong={isBeside(strand)} />}</For>
            <For each={props.map.nodes}>
              {(node) => (
                <Show when={laid().places.get(node.key)}>
                  {(place) => <Node node={node} place={place()} sign={sign()} chosen={props.chosen === node.key} dim={isDim(node.key)} choose={() => props.choose(node.key)} />}
                </Show>
              )}
            </For>
          </g>
        </svg>
      </div>
      <div class="row map-tools">
        <button class="button icon" aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoom(STEP)}>
          <Icon name="plus" />
        </button>
        <button class="button icon" aria-label="Zoom out" title="Zoom out (-)" onClick={() => zoom(1 / STEP)}>
          <span aria-hidden="true">−</span>
        </button>
        <button class="button" title="Show all (0)" onClick={all}>
          All
        </button>
        <span class="muted map-legend">
          <svg width="26" height="10" aria-hidden="true">
            <line class="map-link" x1="0" y1="5" x2="26" y2="5" />
          </svg>
          reported by both sides
          <svg width="26" height="10" aria-hidden="true">
            <line class="map-link one-sided" x1="0" y1="5" x2="26" y2="5" />
          </svg>
          by one side only
        </span>
      </div>
    </div>
  );
}

function Line(props: { strand: Strand; places: Map<string, Place>; reach: Map<string, number>; sign: number; strong: boolean }): JSX.Element {
  const drawn = (): ReturnType<typeof line> | undefined => {
    const { a, b } = props.strand;
    const [first, second] = [props.places.get(a), props.places.get(b)];
    if (!first || !second) return undefined;
    const isForward = first.x <= second.x;
    return line(isForward ? first : second, isForward ? second : first, (props.reach.get(isForward ? a : b) ?? 0) + GAP, props.sign + GAP);
  };
  return (
    <Show when={drawn()}>
      {(drawn) => (
        <>
          <path class="map-link" classList={{ "one-sided": props.strand.oneSided, strong: props.strong }} d={drawn().path} />
          <Show when={props.strand.count > 1}>
            <text class="map-count" x={drawn().middle.x} y={drawn().middle.y - 4} text-anchor="middle">
              ×{props.strand.count}
            </text>
          </Show>
        </>
      )}
    </Show>
  );
}

const aboutOf = (node: GraphMapNode): string => [stateOf(node.state).text, node.address].filter(Boolean).join(" · ");

function Node(props: { node: GraphMapNode; place: Place; sign: number; chosen: boolean; dim: boolean; choose: () => void }): JSX.Element {
  const about = (): string => aboutOf(props.node);
  return (
    <g class={`map-node ${stateOf(props.node.state).meaning}`} classList={{ chosen: props.chosen, dim: props.dim, stranger: props.node.kind === "stranger" }} transform={`translate(${props.place.x} ${props.place.y})`} onClick={() => props.choose()}>
      <title>
        {props.node.name}: {about()}
      </title>
      <rect class="map-ground" x={-14} y={-18} width={reach(props.node.name, about()) + 14} height={38} rx={6} />
      <Show when={props.node.kind === "stranger"} fallback={<Show when={props.node.state === "down"} fallback={<circle r={props.sign} />}><rect x={-props.sign} y={-props.sign} width={props.sign * 2} height={props.sign * 2} /></Show>}>
        <circle r={props.sign} stroke-dasharray="3 2" />
      </Show>
      <text class="map-name" x={WORDS + props.sign - SIGN} y={-2}>
        {nameDrawn(props.node.name)}
      </text>
      <text class="map-about" x={WORDS + props.sign - SIGN} y={13}>
        {about()}
      </text>
    </g>
  );
}
