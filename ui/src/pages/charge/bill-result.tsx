// What came of a comparison: the sums by kind, what there is to say besides, and the differences.

import { A, useSearchParams } from "@solidjs/router";
import { For, Show, type JSX } from "solid-js";
import type { ChargeCompared, ChargeComparedKind, ChargeComparison } from "../../api/types";
import { of, whole } from "../../format";
import { Icon } from "../../parts/icon";
import { Time } from "../../parts/time";
import { Differences } from "./bill-differences";
import { agrees as agreesOf, coinOf, kindName, kindWhat, micros, remarks, sumsOf } from "./bill-words";

export function BillResult(props: { one: ChargeComparison; compared: ChargeCompared }): JSX.Element {
  const c = (): ChargeCompared => props.compared;
  const isBill = (): boolean => props.one.ask.bill !== null;
  const sums = (): ReturnType<typeof sumsOf> => sumsOf(c());
  const agrees = (): boolean => agreesOf(c());
  /** Nothing differs because there was nothing that could. */
  const nothing = (): boolean => agrees() && c().lines === 0;
  const title = (): string => {
    if (nothing()) return isBill() ? "No lines of the bill in this time range" : "No charges for calls in this time range";
    if (agrees()) return "No differences";
    return sums().count > 0 ? of(sums().count, "difference", "differences") : "No certain differences";
  };
  return (
    <>
      <section class="panel" aria-label="Result">
        <header>
          <span class={nothing() ? "muted" : agrees() ? "good-ink" : "warn-ink"}>
            <Icon name={nothing() ? "note" : agrees() ? "good" : "warn"} />
          </span>
          <h2>{title()}</h2>
          <span class="muted">
            <Time at={c().from} /> to <Time at={c().to} />
          </span>
        </header>
        <dl class="charge-facts charge-tight body">
          <Figure name="Overcharged">{micros(sums().over, coinOf(c()))}</Figure>
          <Figure name="Undercharged">{micros(sums().under, coinOf(c()))}</Figure>
          <Figure name="Undecided">{whole(sums().unsure)}</Figure>
          <Figure name={isBill() ? "Lines" : "Sessions charged"}>
            {whole(c().lines)} <span class="muted charge-small">{whole(c().agreed)} agree</span>
          </Figure>
          <Figure name="Calls answered">{whole(c().calls)}</Figure>
          <Figure name={isBill() ? "Billed" : "Charged"}>{micros(c().asked_micros, coinOf(c()))}</Figure>
        </dl>
        <Show when={nothing()}>
          <p class="body muted">
            {isBill()
              ? "Check the time range and the time zone of the bill. Without a range, all days of the bill are compared."
              : `${of(c().calls, "call was", "calls were")} answered, but there are no charging records of calls: choose another range. Open sessions have no record yet; calls of numbers that are not subscribers need none.`}
          </p>
        </Show>
        <Show when={sums().count + sums().unsure > 0}>
          <Kinds id={props.one.id} compared={c()} />
        </Show>
        <Remarks compared={c()} isBill={isBill()} />
      </section>
      <Show when={sums().count + sums().unsure > 0}>
        <Differences one={props.one} compared={c()} />
      </Show>
    </>
  );
}

function Figure(props: { name: string; children: JSX.Element }): JSX.Element {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd class="charge-figure">{props.children}</dd>
    </div>
  );
}

/** Sums by kind; each leads to its differences. */
function Kinds(props: { id: string; compared: ChargeCompared }): JSX.Element {
  const [search] = useSearchParams<{ kind?: string; sure?: string }>();
  const coin = (): ReturnType<typeof coinOf> => coinOf(props.compared);
  const there = (): ChargeComparedKind[] => props.compared.kinds.filter((kind) => kind.count + kind.unsure > 0);
  /** A kind of which nothing is certain leads to what is undecided. */
  const sureOf = (kind: ChargeComparedKind): string | undefined => (kind.count > 0 ? undefined : "false");
  const money = (amount: number): string => (amount === 0 ? "–" : micros(amount, coin()));
  return (
    <div class="scroll" tabindex="0" role="group" aria-label="Table by kind">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Difference</th>
            <th scope="col" class="right">
              Count
            </th>
            <th scope="col" class="right">
              Overcharged
            </th>
            <th scope="col" class="right">
              Undercharged
            </th>
            <th scope="col" class="right">
              Undecided
            </th>
            <th scope="col" class="right">
              In dispute
            </th>
          </tr>
        </thead>
        <tbody>
          <For each={there()}>
            {(kind) => (
              <tr>
                <td>
                  <A href={`/charge/bill/${props.id}?kind=${kind.kind}${sureOf(kind) ? "&sure=false" : ""}`} noScroll aria-current={search.kind === kind.kind && search.sure === sureOf(kind) ? "true" : undefined}>
                    {kindName(kind.kind)}
                  </A>{" "}
                  <span class="muted">{kindWhat(kind.kind)}</span>
                </td>
                <td class="right num">{whole(kind.count)}</td>
                <td class="right num nowrap">{money(kind.over_micros)}</td>
                <td class="right num nowrap">{money(kind.under_micros)}</td>
                <td class="right num">
                  <Show when={kind.unsure > 0} fallback="–">
                    <A href={`/charge/bill/${props.id}?kind=${kind.kind}&sure=false`} noScroll aria-label={`${kindName(kind.kind)}: ${of(kind.unsure, "undecided", "undecided")}`}>
                      {whole(kind.unsure)}
                    </A>
                  </Show>
                </td>
                <td class="right num nowrap">{money(kind.unsure_micros)}</td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
    </div>
  );
}

function Remarks(props: { compared: ChargeCompared; isBill: boolean }): JSX.Element {
  const c = (): ChargeCompared => props.compared;
  return (
    <div class="body stack">
      <ul class="charge-remarks">
        <For each={remarks(c(), props.isBill)}>{(line) => <li>{line}</li>}</For>
        <For each={c().skipped}>{(why) => <li class="warn-ink">A day of the store could not be read: {why}</li>}</For>
      </ul>
      <Show when={c().unread > 0}>
        <details>
          <summary class="warn-ink">{of(c().unread, "line of the bill", "lines of the bill")} could not be read</summary>
          <ul class="charge-remarks">
            <For each={c().unread_lines}>
              {(line) => (
                <li>
                  <span class="num">Line {whole(line.line)}</span>: {line.what}
                </li>
              )}
            </For>
            <Show when={c().unread > c().unread_lines.length}>
              <li class="muted">and {whole(c().unread - c().unread_lines.length)} more</li>
            </Show>
          </ul>
        </details>
      </Show>
    </div>
  );
}
