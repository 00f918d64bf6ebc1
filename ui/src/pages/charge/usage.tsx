import { createResource, For, Show, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { ChargeUsage } from "../../api/types";
import { known } from "../../parts/known";
import { Time } from "../../parts/time";
import { ms } from "../../time";
import { money, units, type Coin } from "./words";

const DAYS = 30;
const DAY_MS = 86_400_000;

/** What an account used by day and rating group. */
export function Usage(props: { account: number; up: number; coin: Coin }): JSX.Element {
  const [usage] = createResource(
    () => [props.account, props.up] as const,
    ([account]) => get<ChargeUsage>(`/charge/accounts/${account}/usage`, { days: DAYS }),
  );
  const days = () => [...(known(usage)?.days ?? [])].reverse();
  const most = (): number => Math.max(1, ...days().map((day) => day.money));
  const cut = (): boolean => {
    const told = known(usage);
    return told !== undefined && ms(told.complete_since) > Date.now() - (DAYS - 1) * DAY_MS;
  };
  return (
    <section class="panel" aria-label="Usage by day">
      <header>
        <h2>Usage by day</h2>
        <span class="muted">
          UTC, {DAYS} days
          <Show when={cut()}>
            {" "}
            (read back to <Time at={known(usage)?.complete_since} shape="short" />)
          </Show>
        </span>
      </header>
      <Show when={days().length > 0} fallback={<p class="body muted">{usage.loading ? "Summing up …" : usage.error ? String(usage.error.message) : "No usage in this time range."}</p>}>
        <ul class="charge-bars body">
          <For each={days()}>
            {(day) => (
              <li>
                <span>
                  {day.day.slice(5)} <span class="muted">{day.rating_group === null ? "" : `group ${day.rating_group}`}</span>
                </span>
                <span class="charge-bar" aria-hidden="true">
                  <span style={{ width: `${Math.max(1, (day.money / most()) * 100)}%` }} />
                </span>
                <span class="num">
                  {units(day.units, day.unit)} <span class="muted">{money(day.money, props.coin)}</span>
                </span>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </section>
  );
}
