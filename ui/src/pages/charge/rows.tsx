// Rows of a comparison or a rating by the page: loaded, sorted by their titles, and as files.

import { createEffect, createSignal, on, Show, type Accessor, type JSX } from "solid-js";
import { get, url } from "../../api/client";
import { whole } from "../../format";
import { Icon } from "../../parts/icon";
import { may } from "../../session";

const PAGE = 100;

export type Asked = Record<string, string | undefined>;

export interface Rows<R> {
  rows: Accessor<R[]>;
  page: Accessor<{ next: string | null; total: number } | undefined>;
  busy: Accessor<boolean>;
  error: Accessor<unknown>;
  load: (cursor?: string | null) => Promise<void>;
}

/** The rows of a path that were asked for, the first page of them and more. */
export function useRows<P extends { next: string | null; total: number }, R>(path: () => string, asked: () => Asked, of: (page: P) => R[]): Rows<R> {
  const [rows, setRows] = createSignal<R[]>([]);
  const [page, setPage] = createSignal<{ next: string | null; total: number }>();
  const [busy, setBusy] = createSignal(true);
  const [error, setError] = createSignal<unknown>();
  const load = async (cursor?: string | null): Promise<void> => {
    const wanted = path() + JSON.stringify(asked());
    const isWanted = (): boolean => wanted === path() + JSON.stringify(asked());
    setBusy(true);
    try {
      const found = await get<P>(path(), { ...asked(), limit: PAGE, cursor });
      if (!isWanted()) return;
      setRows((before) => (cursor ? [...before, ...of(found)] : of(found)));
      setPage({ next: found.next, total: found.total });
      setError(undefined);
    } catch (problem) {
      if (!isWanted()) return;
      setError(() => problem);
    }
    setBusy(false);
  };
  createEffect(on(() => path() + JSON.stringify(asked()), () => void load()));
  return { rows, page, busy, error, load };
}

/** A title that sorts: its first order, then the other one. */
export function Sorted(props: { name: string; orders: [string, string]; order: string; sort: (order: string) => void; right?: boolean }): JSX.Element {
  const at = (): number => props.orders.indexOf(props.order);
  const next = (): string => props.orders[at() === 0 ? 1 : 0]!;
  const direction = (): "ascending" | "descending" | "none" => (at() < 0 ? "none" : (at() === 0) === (props.orders[0] === "oldest") ? "ascending" : "descending");
  return (
    <th scope="col" class={props.right ? "right" : undefined} aria-sort={direction()}>
      <button class="charge-sort" onClick={() => props.sort(next())} title={`Sort: ${next()} first`}>
        {props.name} <span aria-hidden="true">{direction() === "none" ? "↕" : direction() === "ascending" ? "↑" : "↓"}</span>
      </button>
    </th>
  );
}

/** All that were asked for, as files. */
export function Files(props: { path: string; asked: Asked; name: string }): JSX.Element {
  return (
    <Show when={may("calls.export")}>
      <div class="row">
        <a class="button" href={url(`${props.path}.csv`, { ...props.asked })} download={`${props.name}.csv`}>
          <Icon name="download" /> CSV
        </a>
        <a class="button" href={url(`${props.path}.jsonl`, { ...props.asked })} download={`${props.name}.jsonl`} title="One object per line">
          JSON
        </a>
      </div>
    </Show>
  );
}

/** Where there are more than those that are shown. */
export function More<R>(props: { of: Rows<R>; name: string }): JSX.Element {
  return (
    <Show when={props.of.page()?.next}>
      <p class="body row">
        <button class="button" disabled={props.of.busy()} onClick={() => void props.of.load(props.of.page()!.next)}>
          More {props.name}
        </button>
        <span class="muted">
          {whole(props.of.rows().length)} of {whole(props.of.page()!.total)}
        </span>
      </p>
    </Show>
  );
}
