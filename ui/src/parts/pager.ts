// Rows of any number over an API that gives them page by page: knows where each page begins, keeps the pages around
// the screen, and asks again for those that were given up.

/** Rows of a page. */
export const PAGE_ROWS = 100;
/** Pages kept; those farthest from the screen are given up first and asked for again when needed. */
export const PAGES_KEPT = 20;
/** Rows before the end of what is known at which the next page is asked for. */
export const AHEAD_ROWS = 60;
/** The same where nothing else is waited for: there is always a page more than is seen. */
export const AHEAD_ROWS_IDLE = AHEAD_ROWS + PAGE_ROWS;

export interface Page<Row> {
  rows: Row[];
  /** Where the next page begins; null after the last one. */
  next: string | null;
  /** The program gave up before it found a page full. */
  stopped?: boolean;
}

export type Ask<Row> = (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Row>>;

interface Known<Row> {
  cursor: string | undefined;
  first: number;
  count: number;
  rows: Row[] | undefined;
}

/** A book that was laid aside: what was known of it. */
export interface Laid<Row> {
  known: Known<Row>[];
  next: string | null;
}

export interface Book<Row> {
  /** Rows known so far. */
  count: () => number;
  /** Whether there are more than are known. */
  more: () => boolean;
  row: (index: number) => Row | undefined;
  /** Rows of the first pages, as far as they are kept. */
  rows: () => Row[];
  /** Says which rows are seen: asks for what is missing there, and for the next page when the end comes near. */
  seen: (first: number, end: number) => void;
  /** Nothing else is waited for: from now on a page more than is seen is asked for, before one comes near it. */
  ahead: () => void;
  /** Whether the program gave up before it found a page full: it goes on when told to, not by itself. */
  stopped: () => boolean;
  /** Tries again what failed, goes on where the program gave up. */
  again: () => void;
  /** Starts with a page that is already here. */
  begin: (page: Page<Row>) => void;
  /** Goes on with a book that was laid aside. */
  resume: (laid: Laid<Row>) => void;
  /** Stops asking, and gives what is known. */
  lay: () => Laid<Row>;
}

/** `changed` is called after every answer, `failed` with what went wrong; the next `seen` tries again. */
export function book<Row>(ask: Ask<Row>, changed: () => void, failed: (error: unknown) => void): Book<Row> {
  let known: Known<Row>[] = [];
  let next: string | null = null;
  let stopped = false;
  let window = { first: 0, end: 0 };
  let ahead = AHEAD_ROWS;
  const asked = new Map<number, AbortController>();

  const count = (): number => {
    const last = known[known.length - 1];
    return last ? last.first + last.count : 0;
  };
  const pageAt = (index: number): number => {
    let low = 0;
    let high = known.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((known[middle]?.first ?? Infinity) <= index) low = middle;
      else high = middle - 1;
    }
    return known.length ? low : -1;
  };

  /** Gives up what is farthest from the screen. */
  const tidy = (): void => {
    const middle = (window.first + window.end) / 2;
    const kept = known.filter((page) => page.rows);
    kept.sort((a, b) => Math.abs(b.first + b.count / 2 - middle) - Math.abs(a.first + a.count / 2 - middle));
    for (const page of kept.slice(0, Math.max(0, kept.length - PAGES_KEPT))) page.rows = undefined;
  };

  const load = (at: number): void => {
    if (asked.has(at)) return;
    const abort = new AbortController();
    asked.set(at, abort);
    const cursor = at < known.length ? known[at]?.cursor : (next ?? undefined);
    ask(cursor, abort.signal).then(
      (page) => {
        if (abort.signal.aborted) return;
        asked.delete(at);
        take(at, cursor, page);
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        asked.delete(at);
        failed(error);
      },
    );
  };

  const take = (at: number, cursor: string | undefined, page: Page<Row>): void => {
    const old = known[at];
    if (old) {
      // Asked again, a page may have gained or lost rows; its place among the others stays.
      old.rows = page.rows.slice(0, old.count);
    } else {
      known.push({ cursor, first: count(), count: page.rows.length, rows: page.rows });
      next = page.next;
      stopped = page.stopped ?? false;
    }
    tidy();
    changed();
    look();
  };

  const look = (): void => {
    if (known.length === 0) return;
    const last = pageAt(Math.max(0, Math.min(window.end, count()) - 1));
    for (let at = pageAt(window.first); at >= 0 && at <= last; at += 1) if (!known[at]?.rows) load(at);
    if (next !== null && !stopped && window.end + ahead >= count()) load(known.length);
  };

  return {
    count,
    more: () => next !== null,
    row: (index) => {
      const page = known[pageAt(index)];
      return page?.rows?.[index - page.first];
    },
    rows: () => known.flatMap((page) => page.rows ?? []),
    seen: (first, end) => {
      window = { first, end };
      look();
    },
    ahead: () => {
      ahead = AHEAD_ROWS_IDLE;
      look();
    },
    stopped: () => stopped && next !== null,
    again: () => {
      stopped = false;
      look();
    },
    begin: (page) => {
      asked.forEach((abort) => abort.abort());
      asked.clear();
      known = [{ cursor: undefined, first: 0, count: page.rows.length, rows: page.rows }];
      next = page.next;
      stopped = page.stopped ?? false;
      ahead = AHEAD_ROWS;
      window = { first: 0, end: Math.min(window.end - window.first, count()) };
      look();
    },
    resume: (laid) => {
      known = laid.known;
      next = laid.next;
    },
    lay: () => {
      asked.forEach((abort) => abort.abort());
      asked.clear();
      return { known, next };
    },
  };
}
