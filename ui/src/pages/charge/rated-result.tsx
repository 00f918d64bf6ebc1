// What calls come to: money first, then what has no price, by destination, prefix, rule and account, and the calls.

import { A, useSearchParams } from "@solidjs/router";
import { For, Show, type JSX } from "solid-js";
import type { ChargeRated, ChargeRatedTotal, ChargeRating } from "../../api/types";
import { of, whole } from "../../format";
import { Icon } from "../../parts/icon";
import { Empty } from "../../parts/states";
import { Time } from "../../parts/time";
import { RatedCalls } from "./rated-calls";
import { cost, counts, lacking, outcomeHint, outcomeName, outcomeWhat, remarks, whyNothing } from "./rated-words";
import { money, units } from "./words";

export interface RatedSearch {
  outcome?: string;
  destination?: string;
  order?: string;
  by?: string;
  [other: string]: string | undefined;
}

export function RatedResult(props: { one: ChargeRating; rated: ChargeRated }): JSX.Element {
  const r = (): ChargeRated => props.rated;
  const any = (): boolean => counts(r()).length > 0;
  return (
    <Show when={any()} fallback={<Nothing {...props} />}>
      <section class="panel" aria-label="Result">
        <header>
          <span class={lacking(r()) > 0 ? "warn-ink" : "good-ink"}>
            <Icon name={lacking(r()) > 0 ? "warn" : "good"} />
          </span>
          <h2>{r().priced > 0 ? `${of(r().priced, "call costs", "calls cost")} ${cost(r().sums)}` : "No call has a price"}</h2>
          <span class="muted">
            <Time at={r().from} /> to <Time at={r().to} />
          </span>
        </header>
        <dl class="charge-facts charge-tight body">
          <For each={r().sums.filter((sum) => sum.calls > 0)}>
            {(sum) => (
              <>
                <Figure name="Cost" value={money(sum.money, sum)} about={sum.incomplete_money === 0 ? undefined : `${money(sum.incomplete_money, sum)} of it for partly captured calls`} />
                <Figure name="Time" value={units(sum.seconds, "seconds")} about={sum.bundle_seconds === 0 ? undefined : `${units(sum.bundle_seconds, "seconds")} from bundles`} />
              </>
            )}
          </For>
          <Figure name="Without a price" value={whole(lacking(r()))} />
          <Figure name="No account" value={whole(r().nobody_pays)} />
          <Figure name="Rating group" value={props.one.ask.rating_group === null ? "none" : String(props.one.ask.rating_group)} />
        </dl>
        <Outcomes one={props.one} rated={r()} />
        <div class="body stack">
          <ul class="charge-remarks">
            <For each={remarks(r())}>{(line) => <li>{line}</li>}</For>
            <For each={r().skipped}>{(why) => <li class="warn-ink">A day of the store could not be read: {why}</li>}</For>
          </ul>
        </div>
      </section>
      <Totals one={props.one} rated={r()} />
      <RatedCalls one={props.one} rated={r()} />
    </Show>
  );
}

function Nothing(props: { one: ChargeRating; rated: ChargeRated }): JSX.Element {
  return (
    <Empty icon="charge" title="No calls to rate">
      <For each={whyNothing(props.rated, props.one.ask)}>{(line) => <p>{line}</p>}</For>
      <For each={props.rated.skipped}>{(why) => <p class="warn-ink">A day of the store could not be read: {why}</p>}</For>
      <p>
        <Time at={props.rated.from} /> to <Time at={props.rated.to} />. <A href={`/charge/rated?again=${props.one.id}`}>Change and rate again</A>.
      </p>
    </Empty>
  );
}

function Figure(props: { name: string; value: string; about?: string | undefined }): JSX.Element {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd class="charge-figure">
        {props.value}
        <Show when={props.about}>
          <div class="muted charge-small">{props.about}</div>
        </Show>
      </dd>
    </div>
  );
}

/** The address of the calls that are listed, changed in one place. */
export const linkTo = (id: string, to: Record<string, string | undefined>): string => {
  const query = new URLSearchParams(Object.entries(to).filter((pair): pair is [string, string] => pair[1] !== undefined));
  return `/charge/rated/${id}${query.size > 0 ? `?${query.toString()}` : ""}`;
};

/** What became of the calls; each leads to them. */
function Outcomes(props: { one: ChargeRating; rated: ChargeRated }): JSX.Element {
  const [search] = useSearchParams<RatedSearch>();
  return (
    <div class="scroll" tabindex="0" role="group" aria-label="Table by outcome">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Outcome</th>
            <th scope="col" class="right">
              Calls
            </th>
          </tr>
        </thead>
        <tbody>
          <For each={counts(props.rated)}>
            {({ outcome, count }) => (
              <tr>
                <td>
                  <A href={linkTo(props.one.id, { outcome, by: search.by })} noScroll aria-current={search.outcome === outcome ? "true" : undefined}>
                    {outcomeName(outcome)}
                  </A>{" "}
                  <span class="muted">{outcomeWhat(outcome)}</span>
                  <Show when={outcomeHint(outcome)}>
                    <div class="muted charge-small">{outcomeHint(outcome)}</div>
                  </Show>
                </td>
                <td class="right num">{whole(count)}</td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
    </div>
  );
}

const BY = [
  { key: "destination", name: "Destination", none: "no destination in the plan", of: (rated: ChargeRated): ChargeRatedTotal[] => rated.destinations },
  { key: "prefix", name: "Prefix", none: "no prefix in the plan", of: (rated: ChargeRated): ChargeRatedTotal[] => rated.prefixes },
  { key: "rule", name: "Rule", none: "no rule", of: (rated: ChargeRated): ChargeRatedTotal[] => rated.rules },
  { key: "account", name: "Account", none: "none", of: (rated: ChargeRated): ChargeRatedTotal[] => rated.accounts },
] as const;

/** What calls come to, by what is chosen. */
function Totals(props: { one: ChargeRating; rated: ChargeRated }): JSX.Element {
  const [search, setSearch] = useSearchParams<RatedSearch>();
  const by = (): (typeof BY)[number] => BY.find(({ key }) => key === search.by) ?? BY[0];
  const rows = (): ChargeRatedTotal[] => by().of(props.rated);
  return (
    <Show when={rows().length > 0}>
      <section class="panel" aria-label="Totals">
        <header>
          <h2>By {by().name.toLowerCase()}</h2>
          <div class="row" role="group" aria-label="Group by">
            <For each={BY}>
              {(one) => (
                <button class="button" aria-pressed={one.key === by().key} onClick={() => setSearch({ by: one.key === "destination" ? undefined : one.key }, { scroll: false })}>
                  {one.name}
                </button>
              )}
            </For>
          </div>
          <span class="muted">most expensive first</span>
        </header>
        <div class="scroll" tabindex="0" role="group" aria-label="Table of totals">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">{by().name}</th>
                <th scope="col">Plan</th>
                <th scope="col" class="right">
                  Calls
                </th>
                <th scope="col" class="right">
                  Time
                </th>
                <th scope="col" class="right">
                  From bundles
                </th>
                <th scope="col" class="right">
                  Cost
                </th>
                <th scope="col" class="right">
                  Without a price
                </th>
              </tr>
            </thead>
            <tbody>
              <For each={rows()}>
                {(row) => (
                  <tr>
                    <td>
                      <Name row={row} by={by()} one={props.one} />
                    </td>
                    <td>{row.plan ?? "–"}</td>
                    <td class="right num">{whole(row.calls)}</td>
                    <td class="right num nowrap">{units(row.seconds, "seconds")}</td>
                    <td class="right num nowrap">{row.bundle_seconds === 0 ? "–" : units(row.bundle_seconds, "seconds")}</td>
                    <td class="right num nowrap">{money(row.money, row)}</td>
                    <td class="right num">{row.without_price === 0 ? "–" : whole(row.without_price)}</td>
                  </tr>
                )}
              </For>
            </tbody>
          </table>
        </div>
      </section>
    </Show>
  );
}

function Name(props: { row: ChargeRatedTotal; by: (typeof BY)[number]; one: ChargeRating }): JSX.Element {
  const name = (): string | null => props.row.name;
  return (
    <Show when={!props.row.others} fallback={<span class="muted">all others</span>}>
      <Show when={name() !== null} fallback={<span class="muted">{props.by.none}</span>}>
        <Show when={props.by.key === "destination"}>
          <A href={linkTo(props.one.id, { destination: name()! })} noScroll>
            {name()}
          </A>
        </Show>
        <Show when={props.by.key === "account"}>
          <A href={`/charge/accounts/${name()}`}>{name()}</A>
        </Show>
        <Show when={props.by.key === "rule"}>{name()}</Show>
        <Show when={props.by.key === "prefix"}>
          <span class="num">+{name()}</span> <span class="muted">{props.row.destination}</span>
        </Show>
      </Show>
    </Show>
  );
}
