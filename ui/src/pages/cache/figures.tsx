import { Show, type JSX } from "solid-js";
import type { CacheSnapshot, CacheState } from "../../api/types";
import { octets, percent, whole } from "../../format";
import { span } from "../../time";
import { Bar } from "./shapes";
import { perSecond } from "./words";

/** The figures of this moment. A dash is what the server does not tell. */
export function Figures(props: { cache: CacheState; now: CacheSnapshot }): JSX.Element {
  const rates = (): CacheState["rates"] => props.cache.rates;
  const share = (): number => (props.now.used_octets ?? 0) / Math.max(1, props.now.limit_octets ?? 1);
  return (
    <section class="panel" aria-label="Now">
      <dl class="cache-figures">
        <Figure name="Hit ratio" value={percent(rates()?.hit_ratio)} about={`last hour ${percent(props.cache.hour_hit_ratio)}`} strong />
        <Figure name="Gets" value={perSecond(rates()?.gets_per_s)} about={`sets ${perSecond(rates()?.sets_per_s)}, deletes ${perSecond(rates()?.deletes_per_s)}`} />
        <Figure name="Items" value={whole(props.now.items)} about={`expired ${perSecond(rates()?.expired_per_s)}`} />
        <div>
          <dt>Memory</dt>
          <dd>{octets(props.now.used_octets)}</dd>
          <dd class="muted cache-small">
            <Show when={props.now.used_octets !== null && props.now.limit_octets !== null} fallback="unknown">
              of {octets(props.now.limit_octets)}
              <Bar share={share()} />
            </Show>
          </dd>
        </div>
        <Figure
          name="Evicted"
          value={perSecond(rates()?.evicted_per_s)}
          about={props.now.evicted_age_s === null ? `${whole(props.now.evicted_total)} since start` : `unused for ${span(props.now.evicted_age_s)}`}
        />
        <Figure name="Connections" value={whole(props.now.connections)} about={`of ${whole(props.now.connections_max)} max`} />
        <Figure name="Traffic" value={rate(rates()?.sent_octets_per_s)} about={`sent; ${rate(rates()?.received_octets_per_s)} received`} />
      </dl>
    </section>
  );
}

const rate = (value: number | null | undefined): string => (value === null || value === undefined ? "–" : `${octets(Math.round(value))}/s`);

function Figure(props: { name: string; value: string; about: string; strong?: boolean }): JSX.Element {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd classList={{ "cache-strong": props.strong ?? false }}>{props.value}</dd>
      <dd class="muted cache-small">{props.about}</dd>
    </div>
  );
}
