import { createMemo, For, Show, type JSX } from "solid-js";
import type { CacheBar, CacheSnapshot } from "../../api/types";
import { octets, short } from "../../format";
import { ageName, sizeName, worthShowing } from "./words";

/** Items by age and by size: how many, and what they take. */
export function Shapes(props: { now: CacheSnapshot }): JSX.Element {
  return (
    <div class="cache-columns">
      <Shape title="Items by age" about="time since they were stored" bars={props.now.ages} name={ageName} />
      <Shape title="Items by size" about="memory per item" bars={props.now.sizes} name={sizeName} />
    </div>
  );
}

function Shape(props: { title: string; about: string; bars: CacheBar[] | null; name: (bars: CacheBar[], at: number) => string }): JSX.Element {
  const bars = createMemo(() => worthShowing(props.bars ?? [], props.name));
  const most = (): number => Math.max(1, ...bars().map((bar) => bar.octets));
  return (
    <section class="panel" aria-label={props.title}>
      <header>
        <h2>{props.title}</h2>
        <span class="muted">{props.about}</span>
      </header>
      <Show
        when={bars().length > 0}
        fallback={<p class="body muted">{props.bars === null ? "Not available: this server does not report it, or has not scanned all items yet." : "No items."}</p>}
      >
        <ul class="cache-bars body">
          <For each={bars()}>
            {(bar) => (
              <li>
                <span class="nowrap">{bar.name}</span>
                <Bar share={bar.octets / most()} />
                <span class="num nowrap right">
                  {octets(bar.octets)} <span class="muted">{short(bar.items)} {bar.items === 1 ? "item" : "items"}</span>
                </span>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </section>
  );
}

/** A length beside its figure: decoration for those who see it. It never warns: a cache is there to be full. */
export function Bar(props: { share: number }): JSX.Element {
  return (
    <span class="cache-bar" aria-hidden="true">
      <span style={{ width: `${Math.min(100, Math.max(0, props.share * 100))}%` }} />
    </span>
  );
}
