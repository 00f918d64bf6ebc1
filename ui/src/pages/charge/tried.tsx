import { A } from "@solidjs/router";
import { For, Show, type JSX } from "solid-js";
import type { ChargeTried, ChargeTriedGroup } from "../../api/types";
import { of, whole } from "../../format";
import { Tag } from "../../parts/meaning";
import { Time } from "../../parts/time";
import { money, signed } from "./words";

/** What a plan would have charged. */
export function Tried(props: { tried: ChargeTried }): JSX.Element {
  const t = (): ChargeTried => props.tried;
  return (
    <>
      <p class="body">
        <Show when={t().first} fallback={`The ledger has no usage of accounts with this plan in this time range (${whole(t().entries)} entries read).`}>
          From <Time at={t().first} /> to <Time at={t().last} />: {of(t().all.reports, "report", "reports")} of {of(t().accounts, "account", "accounts")} cost <b>{money(t().all.was, t())}</b> and would have cost{" "}
          <b>{money(t().all.would, t())}</b> ({signed(t().all.would - t().all.was, t())}). {of(t().dearer, "account", "accounts")} would have paid more, {whole(t().cheaper)} less.
        </Show>
      </p>
      <Show when={t().groups.length > 0}>
        <div class="scroll" tabindex="0" role="group" aria-label="Table by rating group">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Rating group</th>
                <th scope="col" class="right">
                  Reports
                </th>
                <th scope="col" class="right">
                  Charged
                </th>
                <th scope="col" class="right">
                  Replayed
                </th>
                <th scope="col" class="right">
                  Difference
                </th>
                <th scope="col">Problems</th>
              </tr>
            </thead>
            <tbody>
              <For each={t().groups}>{(group) => <Row group={group} tried={t()} />}</For>
            </tbody>
          </table>
        </div>
      </Show>
      <Show when={t().differences.length > 0}>
        <details class="body">
          <summary>Accounts with the largest difference</summary>
          <ul>
            <For each={t().differences}>
              {(one) => (
                <li>
                  <A href={`/charge/accounts/${one.account}`}>{one.account}</A>: {money(one.would, t())} instead of {money(one.was, t())}
                </li>
              )}
            </For>
          </ul>
        </details>
      </Show>
    </>
  );
}

function Row(props: { group: ChargeTriedGroup; tried: ChargeTried }): JSX.Element {
  const g = (): ChargeTriedGroup => props.group;
  return (
    <tr>
      <td>{g().others ? "all others" : (g().rating_group ?? "none")}</td>
      <td class="right num">{whole(g().reports)}</td>
      <td class="right nowrap num">{money(g().was, props.tried)}</td>
      <td class="right nowrap num">{money(g().would, props.tried)}</td>
      <td class="right nowrap num">{signed(g().would - g().was, props.tried)}</td>
      <td>
        <Show when={g().would_lack > 0}>
          <Tag meaning="warn">{whole(g().would_lack)} with too little balance</Tag>{" "}
        </Show>
        <Show when={g().would_unrated > 0}>
          <Tag meaning="bad">{whole(g().would_unrated)} without a price</Tag>
        </Show>
      </td>
    </tr>
  );
}
