import { createEffect, createSignal, For, Match, on, Show, Switch, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { ChargeLedgerPage, ChargeLine } from "../../api/types";
import { Tag } from "../../parts/meaning";
import { Loading } from "../../parts/states";
import { Time } from "../../parts/time";
import { toastError } from "../../parts/toast";
import { kindText, money, serviceText, signed, units, type Coin } from "./words";

const PAGE = 50;

/** What came to an account and went, the newest first. `up` grows when something was done. */
export function Ledger(props: { account: number; up: number; balance: number; coin: Coin }): JSX.Element {
  const [lines, setLines] = createSignal<ChargeLine[]>([]);
  const [next, setNext] = createSignal<string | null>(null);
  const [busy, setBusy] = createSignal(true);
  const [error, setError] = createSignal("");
  const load = async (cursor?: string | null): Promise<void> => {
    setBusy(true);
    try {
      const page = await get<ChargeLedgerPage>(`/charge/accounts/${props.account}/ledger`, { limit: PAGE, cursor });
      setLines((before) => (cursor ? [...before, ...page.lines] : page.lines));
      setNext(page.next);
      setError("");
    } catch (problem) {
      if (cursor) toastError(problem);
      else setError(problem instanceof Error ? problem.message : String(problem));
    }
    setBusy(false);
  };
  /** What was there before the oldest line, where what was before it was given up. */
  const before = (): number => {
    const oldest = lines().at(-1);
    return next() !== null ? 0 : oldest ? oldest.balance - oldest.amount : props.balance;
  };
  createEffect(on(() => [props.account, props.up], () => void load()));
  return (
    <section class="panel" aria-label="Ledger">
      <header>
        <h2>Ledger</h2>
        <span class="muted">newest first, with the balance after each</span>
      </header>
      <Show
        when={lines().length > 0}
        fallback={
          <div class="body muted">
            <Switch fallback="No entries yet.">
              <Match when={error()}>{error()}</Match>
              <Match when={busy()}>
                <Loading what="the ledger" />
              </Match>
              <Match when={next()}>No entries in the newest part of the ledger.</Match>
              <Match when={before() !== 0}>The entries of this account were lost with deleted parts of the ledger.</Match>
            </Switch>
          </div>
        }
      >
        <div class="scroll" tabindex="0" role="group" aria-label="Table of the ledger">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Event</th>
                <th scope="col" class="right">
                  Units
                </th>
                <th scope="col" class="right">
                  Amount
                </th>
                <th scope="col" class="right">
                  Balance
                </th>
                <th scope="col" class="right">
                  Entry
                </th>
              </tr>
            </thead>
            <tbody>
              <For each={lines()}>{(line) => <Row line={line} coin={props.coin} />}</For>
            </tbody>
          </table>
        </div>
      </Show>
      <Show when={lines().length > 0 && before() !== 0}>
        <p class="body muted">Earlier ledger entries were deleted; the balance was {money(before(), props.coin)} then.</p>
      </Show>
      <Show when={next()}>
        <div class="body">
          <button class="button" disabled={busy()} onClick={() => void load(next())}>
            Older entries
          </button>
        </div>
      </Show>
    </section>
  );
}

function Row(props: { line: ChargeLine; coin: Coin }): JSX.Element {
  const line = (): ChargeLine => props.line;
  return (
    <tr>
      <td>
        <Time at={line().at} shape="short" />
      </td>
      <td>
        {kindText(line().kind)}
        <span class="muted">
          {line().kind === "charge" ? ` ${serviceText(line().rating_group, line().service)}` : ""}
          {line().rule ? `, by “${line().rule}”` : ""}
          {line().allowance ? `${line().kind === "charge" ? ", out of " : " "}${line().allowance}` : ""}
          {line().note ? ` ${line().note}` : ""}
        </span>
        <Show when={line().short > 0}>
          {" "}
          <Tag meaning="bad">{money(line().short, props.coin)} not covered</Tag>
        </Show>
      </td>
      <td class="right nowrap num">{line().units === null ? "" : units(line().units, line().unit)}</td>
      <td class="right nowrap num">{signed(line().amount, props.coin)}</td>
      <td class="right nowrap num">{money(line().balance, props.coin)}</td>
      <td class="right num muted">{line().sequence}</td>
    </tr>
  );
}
