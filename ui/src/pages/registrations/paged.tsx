// Rows that come by the page: the first at once, the next when one nears the end.

import { createEffect, createSignal, Match, on, onCleanup, onMount, Show, Switch, type JSX } from "solid-js";
import { get, type Query } from "../../api/client";
import { Loading, Trouble } from "../../parts/states";

const PAGE_ROWS = 200;
/** Rows that the page keeps; who wants more narrows the range. */
const ROWS_MAX = 10_000;

export interface PagedProps<T> {
  path: string;
  /** Where the rows stand in the answer. */
  rows: string;
  query: Query;
  /** What they are: "registrations". */
  what: string;
  empty: JSX.Element;
  children: (rows: T[]) => JSX.Element;
}

type Answer<T> = { next: string | null } & Record<string, T[] | string | null>;

export function Paged<T>(props: PagedProps<T>): JSX.Element {
  const [rows, setRows] = createSignal<T[]>([]);
  const [next, setNext] = createSignal<string | null>(null);
  const [state, setState] = createSignal<"loading" | "more" | "ready">("loading");
  const [error, setError] = createSignal<unknown>();
  let asked: AbortController | undefined;
  const ask = async (cursor: string | null): Promise<void> => {
    asked?.abort();
    asked = new AbortController();
    const { signal } = asked;
    setState(cursor === null ? "loading" : "more");
    setError(undefined);
    try {
      const answer = await get<Answer<T>>(props.path, { ...props.query, limit: PAGE_ROWS, cursor }, signal);
      const fresh = (answer[props.rows] ?? []) as T[];
      setRows((before) => (cursor === null ? fresh : [...before, ...fresh]));
      setNext(answer.next);
    } catch (problem) {
      if (signal.aborted) return;
      setError(problem);
    }
    setState("ready");
  };
  createEffect(on(() => JSON.stringify([props.path, props.query]), () => void ask(null)));
  onCleanup(() => asked?.abort());
  const goOn = (): void => {
    if (state() === "ready" && next() !== null && rows().length < ROWS_MAX && !error()) void ask(next());
  };
  return (
    <Switch fallback={props.children(rows())}>
      <Match when={error() && rows().length === 0}>
        <Trouble error={error()} retry={() => void ask(null)} />
      </Match>
      <Match when={state() === "loading" && rows().length === 0}>
        <Loading what={props.what} />
      </Match>
      <Match when={rows().length === 0}>{props.empty}</Match>
      <Match when={true}>
        {props.children(rows())}
        <Show when={next() !== null} fallback={<p class="paged-end muted">These are all.</p>}>
          <Show when={rows().length < ROWS_MAX} fallback={<p class="paged-end muted">Only the first {ROWS_MAX.toLocaleString("en")} are listed: narrow the range or the search.</p>}>
            <Near run={goOn} busy={state() === "more"} error={error()} />
          </Show>
        </Show>
      </Match>
    </Switch>
  );
}

/** Below the last row: coming near asks for more. */
function Near(props: { run: () => void; busy: boolean; error: unknown }): JSX.Element {
  let mark: HTMLDivElement | undefined;
  onMount(() => {
    const watch = new IntersectionObserver(([entry]) => entry?.isIntersecting && props.run(), { rootMargin: "600px" });
    if (mark) watch.observe(mark);
    onCleanup(() => watch.disconnect());
  });
  return (
    <div ref={mark} class="paged-end">
      <button class="button" onClick={() => props.run()} disabled={props.busy}>
        {props.busy ? "Loading …" : props.error ? `${props.error instanceof Error ? props.error.message : "Failed"} Try again` : "More"}
      </button>
    </div>
  );
}
