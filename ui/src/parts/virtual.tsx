// A list of any length of which only the rows on the screen are made. All rows are of one height. Scrolls by itself,
// or with the page. j and k (and the arrows, where the list has the focus) move the cursor, Enter opens: a row holds a
// link marked with `data-row-link`, which gets the focus.

import { createEffect, createMemo, createSignal, For, on, onCleanup, onMount, type JSX } from "solid-js";
import { useKeys } from "./keys";
import { HEIGHT_MAX_PX, rowsOf, rowWindow, scrollFor } from "./window-of-rows";
import "./virtual.css";

export interface VirtualProps {
  /** How many rows there are, as far as is known. */
  count: number;
  /** Whether there are more than are known. */
  more?: boolean;
  /** Of a row, in pixels. */
  rowHeight: number;
  label: string;
  /** The row with the cursor; -1 for none. */
  cursor: number;
  onCursor: (row: number) => void;
  /** The rows that are seen changed. */
  onRows?: (first: number, end: number) => void;
  /** "page": the window scrolls, not the list. */
  scroller?: "self" | "page";
  /** Stays at the top while rows scroll. */
  head?: JSX.Element;
  headHeight?: number;
  /** Of the rows, where they are wider than the list: a CSS length. */
  width?: string;
  /** What there are: "calls", for the help of keys. */
  rows: string;
  children: (row: number) => JSX.Element;
  /** Below the last row: what is still loading, or that this is the end. */
  foot?: JSX.Element;
  /** Hands out how to move without moving what one reads. */
  handle?: (handle: VirtualHandle) => void;
}

export interface VirtualHandle {
  /** Whether the first row is seen. */
  atTop: () => boolean;
  toTop: () => void;
  /** What was scrolled past, in pixels, and how to come back there. */
  top: () => number;
  scrollTo: (top: number) => void;
  /** Gives the focus to a row's link. */
  focus: (row: number) => void;
}

export function Virtual(props: VirtualProps): JSX.Element {
  const [top, setTop] = createSignal(0);
  const [view, setView] = createSignal(600);
  let box: HTMLDivElement | undefined;
  let body: HTMLDivElement | undefined;
  const page = (): boolean => props.scroller === "page";
  const head = (): number => (props.head ? (props.headHeight ?? 0) : 0);
  const count = (): number => Math.min(props.count, Math.floor(HEIGHT_MAX_PX / props.rowHeight));

  const measure = (): void => {
    if (!box || !body) return;
    setTop(page() ? Math.max(0, -body.getBoundingClientRect().top) : box.scrollTop);
    setView(page() ? innerHeight : box.clientHeight);
  };
  const scrollTo = (to: number): void => {
    if (!box || !body) return;
    if (page()) scrollBy({ top: to + body.getBoundingClientRect().top, behavior: "instant" });
    else box.scrollTop = to;
    measure();
  };
  onMount(() => {
    const watch = new ResizeObserver(measure);
    watch.observe(box!);
    addEventListener("scroll", measure, { passive: true });
    addEventListener("resize", measure);
    measure();
    onCleanup(() => {
      watch.disconnect();
      removeEventListener("scroll", measure);
      removeEventListener("resize", measure);
    });
    props.handle?.({
      atTop: () => top() < props.rowHeight,
      toTop: () => scrollTo(0),
      top,
      scrollTo,
      focus,
    });
  });

  const shown = createMemo(() => rowWindow(top(), view(), props.rowHeight, count()), undefined, {
    equals: (a, b) => a.first === b.first && a.end === b.end,
  });
  createEffect(on(shown, ({ first, end }) => props.onRows?.(first, end)));
  const rows = createMemo(() => rowsOf(shown(), props.cursor, count()));

  const focus = (row: number): void => body?.querySelector<HTMLElement>(`[data-row="${row}"] [data-row-link]`)?.focus({ preventScroll: true });
  const go = (row: number): void => {
    if (count() === 0) return;
    const next = Math.max(0, Math.min(count() - 1, row));
    props.onCursor(next);
    const to = scrollFor(next, props.rowHeight, top(), view() - (page() ? 0 : head()), page() ? 80 : 0);
    if (to !== undefined) scrollTo(Math.max(0, page() && next * props.rowHeight < top() ? to - head() - 8 : to));
    focus(next);
  };
  const start = (): number => (props.cursor < 0 ? Math.ceil(top() / props.rowHeight) - 1 : props.cursor);
  useKeys([
    { keys: "j", what: `Next in the list of ${props.rows}`, run: () => go(start() + 1) },
    { keys: "k", what: `Previous in the list of ${props.rows}`, run: () => go(props.cursor < 0 ? 0 : props.cursor - 1) },
  ]);
  const key = (event: KeyboardEvent): void => {
    const leap = Math.max(1, Math.floor((view() - head()) / props.rowHeight) - 1);
    const to = { ArrowDown: start() + 1, ArrowUp: props.cursor - 1, PageDown: start() + leap, PageUp: props.cursor - leap, Home: 0, End: count() - 1 }[event.key];
    if (to === undefined || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    if (!body?.contains(document.activeElement)) return;
    event.preventDefault();
    go(to);
  };
  const focused = (event: FocusEvent): void => {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-row]")?.dataset["row"];
    if (row !== undefined && Number(row) !== props.cursor) props.onCursor(Number(row));
  };

  return (
    <div
      ref={box}
      class="virtual"
      classList={{ page: page() }}
      onScroll={measure}
      onKeyDown={key}
      onFocusIn={focused}
    >
      <div class="virtual-wide" style={{ width: props.width }} role="table" aria-label={props.label} aria-rowcount={props.more ? -1 : props.count + (props.head ? 1 : 0)}>
        {props.head && <div class="virtual-head" role="rowgroup" style={{ height: `${head()}px` }}>{props.head}</div>}
        <div ref={body} class="virtual-body" role="rowgroup" style={{ height: `${count() * props.rowHeight}px` }}>
          <For each={rows()}>
            {(row) => (
              <div
                class="virtual-row"
                classList={{ cursor: props.cursor === row }}
                role="row"
                data-row={row}
                aria-rowindex={row + (props.head ? 2 : 1)}
                style={{ transform: `translateY(${row * props.rowHeight}px)`, height: `${props.rowHeight}px` }}
              >
                {props.children(row)}
              </div>
            )}
          </For>
        </div>
      </div>
      {props.foot}
    </div>
  );
}
