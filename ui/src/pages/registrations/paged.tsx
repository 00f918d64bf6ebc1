// Rows that come by the page, of any number: only those on the screen are made.

import { batch, createEffect, createSignal, Match, on, onCleanup, Show, Switch, type JSX } from "solid-js";
import { get, type Query } from "../../api/client";
import { PHONE, useMedia } from "../../parts/media";
import { book, PAGE_ROWS, type Page } from "../../parts/pager";
import { Loading, Trouble } from "../../parts/states";
import { Virtual, type VirtualHandle } from "../../parts/virtual";

/** Of the head, in pixels. */
const HEAD_PX = 32;

export interface PagedProps<T> {
  path: string;
  /** Where the rows stand in the answer. */
  rows: string;
  query: Query;
  /** What they are: "registrations". */
  what: string;
  label: string;
  empty: JSX.Element;
  /** Of a row, in pixels: on a desk and on a phone. */
  heights: [desk: number, phone: number];
  /** The heads of the columns; none on a phone. */
  head: JSX.Element;
  children: (row: T) => JSX.Element;
}

type Answer<T> = { next: string | null } & Record<string, T[] | string | null>;

export function Paged<T>(props: PagedProps<T>): JSX.Element {
  const phone = useMedia(PHONE);
  const [version, setVersion] = createSignal(0);
  const [busy, setBusy] = createSignal(true);
  const [begun, setBegun] = createSignal(false);
  const [error, setError] = createSignal<unknown>();
  const [pageError, setPageError] = createSignal<unknown>();
  const [cursor, setCursor] = createSignal(-1);
  let list: VirtualHandle | undefined;
  let first: AbortController | undefined;

  const changed = (): void => void setVersion((n) => n + 1);
  const ask = async (from: string | undefined, signal: AbortSignal): Promise<Page<T>> => {
    setPageError(undefined);
    const answer = await get<Answer<T>>(props.path, { ...props.query, limit: PAGE_ROWS, cursor: from }, signal);
    return { rows: (answer[props.rows] ?? []) as T[], next: answer.next };
  };
  const pages = book<T>(ask, changed, setPageError);
  /** The rows anew. What stood there stays until they are here. */
  const load = async (): Promise<void> => {
    first?.abort();
    const abort = (first = new AbortController());
    setBusy(true);
    let page: Page<T> | undefined;
    let problem: unknown;
    try {
      page = await ask(undefined, abort.signal);
    } catch (caught) {
      problem = caught;
    }
    if (abort.signal.aborted) return;
    batch(() => {
      if (page) pages.begin(page);
      setError(() => problem);
      setBusy(false);
      setBegun(true);
      changed();
    });
  };
  createEffect(
    on(
      () => JSON.stringify([props.path, props.query]),
      () => {
        setCursor(-1);
        list?.toTop();
        void load();
      },
    ),
  );
  onCleanup(() => {
    first?.abort();
    pages.lay();
  });

  const read = <R,>(of: () => R): (() => R) => () => (version(), of());
  const count = read(pages.count);
  const more = read(pages.more);
  const again = (): void => {
    setPageError(undefined);
    pages.again();
    changed();
  };
  return (
    <Switch>
      <Match when={!begun()}>
        <Loading what={props.what} />
      </Match>
      <Match when={error()}>
        <Trouble error={error()} retry={() => void load()} />
      </Match>
      <Match when={count() === 0 && !more()}>{props.empty}</Match>
      <Match when={true}>
        <div class="paged" classList={{ busy: busy() }}>
          <Virtual
            count={count()}
            more={more()}
            rowHeight={props.heights[phone() ? 1 : 0]}
            label={props.label}
            rows={props.what}
            cursor={cursor()}
            onCursor={setCursor}
            onRows={pages.seen}
            scroller={phone() ? "page" : "self"}
            head={phone() ? undefined : props.head}
            headHeight={HEAD_PX}
            handle={(handle) => (list = handle)}
            foot={<Foot what={props.what} more={more()} error={pageError()} again={again} />}
          >
            {(row) => (
              <Show keyed when={(version(), pages.row(row))} fallback={<span class="virtual-waiting" role="cell" aria-label="Loading" />}>
                {(found) => props.children(found as T)}
              </Show>
            )}
          </Virtual>
        </div>
      </Match>
    </Switch>
  );
}

function Foot(props: { what: string; more: boolean; error: unknown; again: () => void }): JSX.Element {
  return (
    <p class="paged-end muted" role="status">
      <Switch fallback="End of list">
        <Match when={props.error}>
          More {props.what} could not be loaded.{" "}
          <button class="button" onClick={() => props.again()}>
            Try again
          </button>
        </Match>
        <Match when={props.more}>Loading more {props.what} …</Match>
      </Switch>
    </p>
  );
}
