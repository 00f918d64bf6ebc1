// The calls that were rated, by the page: chosen by outcome and destination, sorted by time or money.

import { A, useSearchParams } from "@solidjs/router";
import { For, Show, type JSX } from "solid-js";
import type { ChargeRated, ChargeRatedCall, ChargeRatedCallsPage, ChargeRating } from "../../api/types";
import { of, whole, type Meaning } from "../../format";
import { Tag } from "../../parts/meaning";
import { useRowKeys } from "../../parts/row-keys";
import { Loading, Trouble } from "../../parts/states";
import { Time } from "../../parts/time";
import type { RatedSearch } from "./rated-result";
import { counts, outcomeName, outcomeWhat } from "./rated-words";
import { Files, More, Sorted, useRows, type Asked } from "./rows";
import { money, units, type Coin } from "./words";

const MEANINGS: Record<string, Meaning> = { priced: "good", "no-rule": "bad", blocked: "bad", "not-understood": "warn", open: "warn" };

export function RatedCalls(props: { one: ChargeRating; rated: ChargeRated }): JSX.Element {
  const [search, setSearch] = useSearchParams<RatedSearch>();
  const path = (): string => `/charge/ratings/${props.one.id}/calls`;
  const asked = (): Asked => ({ outcome: search.outcome, destination: search.destination, order: search.order });
  const found = useRows<ChargeRatedCallsPage, ChargeRatedCall>(path, asked, (page) => page.calls);
  const set = (to: Record<string, string | undefined>): void => setSearch(to, { scroll: false });
  useRowKeys("calls");
  const coin = (currency: string | null): Coin => ({ currency, decimals: props.rated.sums.find((sum) => sum.currency === currency)?.decimals ?? null });
  const destinations = (): string[] => [...new Set(props.rated.destinations.flatMap(({ name }) => (name === null ? [] : [name])))];
  return (
    <section class="panel" aria-label="Calls">
      <header>
        <h2>Calls</h2>
        <select class="input" aria-label="Outcome" value={search.outcome ?? ""} onChange={(event) => set({ outcome: event.currentTarget.value || undefined })}>
          <option value="">all outcomes</option>
          <For each={counts(props.rated)}>{({ outcome }) => <option value={outcome} selected={outcome === search.outcome}>{outcomeName(outcome)}</option>}</For>
        </select>
        <Show when={destinations().length > 0}>
          <select class="input" aria-label="Destination" value={search.destination ?? ""} onChange={(event) => set({ destination: event.currentTarget.value || undefined })}>
            <option value="">all destinations</option>
            <For each={destinations()}>{(name) => <option value={name} selected={name === search.destination}>{name}</option>}</For>
          </select>
        </Show>
        <span class="muted" role="status">
          {found.page() ? of(found.page()!.total, "call", "calls") : ""}
        </span>
        <Files path={path()} asked={asked()} name="calls" />
      </header>
      <Show when={props.one.cut}>
        <p class="body warn-ink">Only the first {whole(props.one.listed)} are listed; the sums above include all. Choose a shorter time to list all.</p>
      </Show>
      <Show when={!found.error()} fallback={<Trouble error={found.error()} retry={() => void found.load()} />}>
        <Show when={found.rows().length > 0} fallback={<Show when={!found.busy()} fallback={<Loading what="calls" />}><p class="body muted">No calls with this outcome. Choose another one above.</p></Show>}>
          <div class="scroll" tabindex="0" role="group" aria-label="Table of calls" aria-busy={found.busy()}>
            <table class="table">
              <thead>
                <tr>
                  <Sorted name="Answered" orders={["oldest", "newest"]} order={search.order ?? "oldest"} sort={(order) => set({ order: order === "oldest" ? undefined : order })} />
                  <th scope="col">Parties</th>
                  <th scope="col" class="right">
                    Time
                  </th>
                  <Sorted right name="Cost" orders={["most", "least"]} order={search.order ?? "oldest"} sort={(order) => set({ order })} />
                  <th scope="col">Rule</th>
                  <th scope="col">Account</th>
                </tr>
              </thead>
              <tbody>
                <For each={found.rows()}>{(row) => <Row row={row} coin={coin(row.currency)} />}</For>
              </tbody>
            </table>
          </div>
          <More of={found} name="calls" />
        </Show>
      </Show>
    </section>
  );
}

function Row(props: { row: ChargeRatedCall; coin: Coin }): JSX.Element {
  const r = (): ChargeRatedCall => props.row;
  const priced = (): boolean => r().outcome === "priced";
  const where = (): string => [r().destination, r().prefix === null ? null : `+${r().prefix}`].filter(Boolean).join(", ");
  return (
    <tr>
      <td>
        <Time at={r().answer} shape="short" />
      </td>
      <td class="num">
        <A data-row-link href={`/calls/${r().call}`} title="Open the call">
          {r().caller || "–"} → {r().called || "–"}
        </A>
        <Show when={where()}>
          <div class="muted charge-small">{where()}</div>
        </Show>
      </td>
      <td class="right num nowrap">
        {units(r().seconds, "seconds")}
        <Show when={(r().bundle_seconds ?? 0) > 0}>
          <div class="muted charge-small">{units(r().bundle_seconds, "seconds")} of bundles</div>
        </Show>
      </td>
      <td class="right num nowrap">
        <Show
          when={priced()}
          fallback={
            <Tag meaning={MEANINGS[r().outcome] ?? "none"} title={outcomeWhat(r().outcome)}>
              {outcomeName(r().outcome)}
            </Tag>
          }
        >
          {money(r().money, props.coin)}
          <Show when={!r().complete}>
            <div class="muted charge-small">partly captured</div>
          </Show>
        </Show>
      </td>
      <td class="charge-line">
        <Show when={priced() || r().rule} fallback={<span class="muted charge-small">{why(r())}</span>}>
          {r().rule}
          <Show when={r().plan}>
            <div class="muted charge-small">
              {r().plan}
              {r().plan_version === null ? "" : `, version ${r().plan_version}`}
            </div>
          </Show>
        </Show>
      </td>
      <td class="num">
        <Show when={r().account !== null} fallback="–">
          <A href={`/charge/accounts/${r().account}`}>{r().account}</A>
        </Show>
      </td>
    </tr>
  );
}

/** Why a call has no price; of a number that is not understood, which one. */
const why = (row: ChargeRatedCall): string => (row.not_understood === null ? outcomeWhat(row.outcome) : `the number format of ${row.not_understood} is not set`);
