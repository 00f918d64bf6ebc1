// Which alerts a list is of: it stands in the address.

import { For, onCleanup, Show, type JSX } from "solid-js";
import type { Query } from "../../api/client";
import { whole } from "../../format";

/** Alerts of one part of a list. */
export const PAGE = 100;
/** Milliseconds after the last letter that a search waits. */
const TYPED_MS = 200;

export type Search = { q?: string; severity?: string; state?: string; rule?: string; device?: string; taken?: string; page?: string; from?: string; to?: string };
type SetSearch = (search: Partial<Record<keyof Search, string | undefined>>, options?: { replace: boolean }) => void;

const page = (search: Partial<Search>): number => Math.max(0, Number(search.page ?? 1) - 1) || 0;

export const asked = (search: Partial<Search>): Query => ({
  text: search.q,
  severity: search.severity,
  state: search.state,
  rule: search.rule,
  device: search.device,
  acknowledged: search.taken === undefined ? undefined : search.taken === "yes",
  offset: page(search) * PAGE || undefined,
  limit: PAGE,
});

export function Asked(props: { search: Partial<Search>; setSearch: SetSearch; states?: boolean }): JSX.Element {
  let typed: ReturnType<typeof setTimeout> | undefined;
  onCleanup(() => clearTimeout(typed));
  const type = (name: "q" | "rule" | "device", text: string): void => {
    clearTimeout(typed);
    typed = setTimeout(() => props.setSearch({ [name]: text.trim() || undefined, page: undefined }, { replace: true }), TYPED_MS);
  };
  const field = (name: "q" | "rule" | "device", label: string): JSX.Element => (
    <input class="input" size={name === "q" ? 24 : 14} type="search" aria-label={label} placeholder={label} value={props.search[name] ?? ""} onInput={(event) => type(name, event.currentTarget.value)} />
  );
  const choice = (name: "severity" | "state" | "taken", label: string, any: string, all: [string, string][]): JSX.Element => (
    <select class="input" aria-label={label} onChange={(event) => props.setSearch({ [name]: event.currentTarget.value || undefined, page: undefined })}>
      <option value="">{any}</option>
      <For each={all}>
        {([value, text]) => (
          <option value={value} selected={props.search[name] === value}>
            {text}
          </option>
        )}
      </For>
    </select>
  );
  return (
    <div class="row alerts-ask" role="group" aria-label="Filter the alerts">
      {field("q", "Search")}
      {choice("severity", "Severity", "any severity", [["critical", "critical"], ["warning", "warning"], ["info", "info"]])}
      <Show when={props.states}>{choice("state", "State", "any state", [["firing", "firing"], ["firing again", "firing again"], ["suppressed", "suppressed"], ["unknown", "no data"]])}</Show>
      {choice("taken", "Acknowledged", "acknowledged or not", [["no", "not acknowledged"], ["yes", "acknowledged"]])}
      {field("rule", "Rule")}
      {field("device", "Device")}
    </div>
  );
}

export function Pages(props: { search: Partial<Search>; setSearch: SetSearch; total: number }): JSX.Element {
  const last = (): number => Math.max(0, Math.ceil(props.total / PAGE) - 1);
  const go = (to: number): void => props.setSearch({ page: to === 0 ? undefined : String(to + 1) });
  return (
    <Show when={last() > 0}>
      <div class="row" role="group" aria-label="Pages">
        <button class="button" disabled={page(props.search) === 0} onClick={() => go(page(props.search) - 1)}>
          Previous
        </button>
        <span class="num">
          {whole(page(props.search) + 1)} of {whole(last() + 1)}
        </span>
        <button class="button" disabled={page(props.search) >= last()} onClick={() => go(page(props.search) + 1)}>
          Next
        </button>
      </div>
    </Show>
  );
}
