// The calls that the page shows: what was asked (it stands in the address), their rows, what they add up to, and new
// ones as they come. The rows are asked for first and alone; nothing that they need waits for anything else.

import { useSearchParams } from "@solidjs/router";
import { batch, createEffect, createSignal, on, onCleanup } from "solid-js";
import { get } from "../../api/client";
import { Problem } from "../../api/problem";
import type { Call, CallsPage, CallsSummary, Skipped } from "../../api/types";
import { status } from "../../live";
import { zone } from "../../prefs";
import { book, PAGE_ROWS, type Laid, type Page } from "../../parts/pager";
import { useRange, type Range } from "../../range";

/** How often new calls are looked for while one follows. */
const FOLLOW_MS = 3000;
/** Rows that are asked for to count new ones. */
const FOLLOW_ROWS = 50;
/** How often the figures are asked for again while one follows. */
const FIGURES_MS = 10_000;
const BUCKETS = 150;
/** The figures are asked for after the rows, but not later than this. */
const SUM_AFTER_MS = 200;
/** How long a list that was left for one of its calls is taken up again as it was. */
const LAID_MS = 10 * 60_000;

/** Where one was in the list. */
export interface Place {
  top: number;
  cursor: number;
}

let laid: { question: string; at: number; pages: Laid<Call>; summary: CallsSummary | undefined; place: Place } | undefined;

export type Selection = ReturnType<typeof useSelection>;

const pageOf = (page: CallsPage): Page<Call> => ({ rows: page.calls, next: page.next, stopped: page.stopped });

export function useSelection() {
  const [search, setSearch] = useSearchParams<{ filter?: string; order?: string }>();
  const [range, setRange] = useRange();
  const filter = (): string => search.filter ?? "";
  const question = () => ({ filter: filter(), from: range().from, to: range().to, order: search.order === "oldest" ? "oldest" : undefined, tz: zone() });

  const [version, setVersion] = createSignal(0);
  const [busy, setBusy] = createSignal(true);
  const [begun, setBegun] = createSignal(false);
  const [error, setError] = createSignal<unknown>();
  const [pageError, setPageError] = createSignal<unknown>();
  const [summary, setSummary] = createSignal<CallsSummary>();
  const [summaryError, setSummaryError] = createSignal<unknown>();
  const [summing, setSumming] = createSignal(false);
  const [skipped, setSkipped] = createSignal<Skipped[]>([]);
  const [fresh, setFresh] = createSignal({ count: 0, atLeast: false });
  const [following, setFollowing] = createSignal(false);

  const changed = (): void => void setVersion((n) => n + 1);
  const ask = (cursor: string | undefined, signal: AbortSignal): Promise<CallsPage> => {
    setPageError(undefined);
    return get<CallsPage>("/calls", { ...question(), limit: PAGE_ROWS, cursor }, signal);
  };
  const pages = book((cursor, signal) => ask(cursor, signal).then(pageOf), changed, setPageError);

  let first: AbortController | undefined;
  let figures: AbortController | undefined;

  /** The rows anew, from the first. What stood there stays until they are here. */
  const load = async (quietly = false): Promise<void> => {
    first?.abort();
    const abort = (first = new AbortController());
    if (!quietly) setBusy(true);
    try {
      const page = await ask(undefined, abort.signal);
      batch(() => {
        pages.begin(pageOf(page));
        setError(undefined);
        setSkipped(page.skipped);
        setFresh({ count: 0, atLeast: false });
        done();
      });
    } catch (problem) {
      if (abort.signal.aborted) return;
      batch(() => {
        setError(problem);
        done();
      });
    }
  };
  const done = (): void => {
    setBusy(false);
    setBegun(true);
    changed();
  };
  const sum = async (quietly = false): Promise<void> => {
    figures?.abort();
    if (!quietly) setSumming(true);
    const abort = (figures = new AbortController());
    const { order: _, ...asked } = question();
    try {
      const answer = await get<CallsSummary>("/calls/summary", { ...asked, buckets: BUCKETS }, abort.signal);
      batch(() => {
        setSummary(answer);
        setSummaryError(undefined);
        setSumming(false);
      });
    } catch (problem) {
      if (abort.signal.aborted) return;
      // A mistake in the filter is told by the rows.
      batch(() => {
        setSummaryError(problem instanceof Problem && problem.kind === "bad-filter" ? undefined : problem);
        setSummary(undefined);
        setSumming(false);
      });
    }
  };
  let turn = 0;
  /** The rows first: the figures, which look at every call, would share the program and the browser with them. */
  const reload = (): void => {
    figures?.abort();
    setSumming(true);
    const mine = (turn += 1);
    const late = new Promise((resolve) => setTimeout(resolve, SUM_AFTER_MS));
    void Promise.race([load(), late])
      .then(() => (mine === turn ? sum() : undefined))
      .then(() => (mine === turn ? pages.ahead() : undefined));
  };
  const asked = (): string => JSON.stringify(question());
  const again = laid?.question === asked() && Date.now() - laid.at < LAID_MS ? laid : undefined;
  if (again) {
    pages.resume(again.pages);
    setSummary(again.summary);
    done();
    void sum(true);
  }
  createEffect(on(asked, reload, { defer: again !== undefined }));

  /** Counts calls that were not there; takes them in where that moves nothing that is read. */
  const look = async (mayTake: () => boolean): Promise<void> => {
    if (busy()) return;
    const known = new Set(pages.rows().slice(0, 2 * PAGE_ROWS).map((call) => call.id));
    const before = asked();
    const head = await get<CallsPage>("/calls", { ...question(), limit: FOLLOW_ROWS });
    if (before !== asked() || busy()) return;
    const count = head.calls.filter((call) => !known.has(call.id)).length;
    if (count > 0 && mayTake()) await load(true);
    else setFresh({ count, atLeast: count === FOLLOW_ROWS && head.next !== null });
  };
  const follow = (mayTake: () => boolean): void => {
    createEffect(() => {
      if (!following() || search.order === "oldest") return;
      let seen: number | undefined;
      let summed = Date.now();
      const tick = (): void => {
        const finished = status()?.calls_finished_total;
        // Where the feed says that no call ended there is nothing to ask for.
        if (document.hidden || (finished !== undefined && finished === seen)) return;
        seen = finished;
        look(mayTake).catch(() => void (seen = undefined));
        if (Date.now() - summed > FIGURES_MS) {
          summed = Date.now();
          void sum(true);
        }
      };
      const timer = setInterval(tick, FOLLOW_MS);
      onCleanup(() => clearInterval(timer));
    });
  };
  onCleanup(() => {
    turn += 1;
    first?.abort();
    figures?.abort();
  });
  /** Called on leaving: the list is taken up again as it is, if one comes back. */
  const lay = (place: Place): void => {
    const whole = begun() && !busy() && error() === undefined;
    laid = whole ? { question: asked(), at: Date.now(), pages: pages.lay(), summary: summary(), place } : undefined;
  };

  const read = <T>(of: () => T): (() => T) => () => (version(), of());
  return {
    filter,
    setFilter: (text: string): void => setSearch({ filter: text.trim() || undefined }),
    range,
    setRange: (next: Range): void => setRange(next),
    oldestFirst: () => search.order === "oldest",
    setOldestFirst: (on: boolean): void => setSearch({ order: on ? "oldest" : undefined }),
    question,
    reload,
    load,
    lay,
    /** Where one was, if the list was taken up again. */
    place: again?.place,
    busy,
    begun,
    error,
    pageError,
    retryPage: (): void => {
      setPageError(undefined);
      pages.again();
      changed();
    },
    count: read(pages.count),
    more: read(pages.more),
    stopped: read(pages.stopped),
    rows: read(pages.rows),
    row: (index: number): Call | undefined => (version(), pages.row(index)),
    seen: pages.seen,
    skipped,
    summary,
    /** Whether the summary is still that of what was asked before. */
    summing,
    summaryError,
    fresh,
    following,
    setFollowing,
    follow,
  };
}
