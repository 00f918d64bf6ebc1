import { For, Show, type JSX } from "solid-js";
import type { CacheSnapshot } from "../../api/types";
import { octets, percent, whole } from "../../format";
import { Icon } from "../../parts/icon";
import { Bar } from "./shapes";
import { kindName } from "./words";

/** What memory is taken by. */
export function Memory(props: { now: CacheSnapshot }): JSX.Element {
  const most = (): number => Math.max(1, props.now.limit_octets ?? 0, ...props.now.memory.map((memory) => memory.octets));
  return (
    <section class="panel" aria-label="Memory by kind">
      <header>
        <h2>Memory by kind</h2>
        <span class="muted">of {octets(props.now.limit_octets)}</span>
      </header>
      <Show when={props.now.memory.length > 0} fallback={<p class="body muted">This server does not report memory by kind.</p>}>
        <ul class="cache-bars body">
          <For each={props.now.memory}>
            {(memory) => (
              <li>
                <span>{kindName(memory.kind)}</span>
                <Bar share={memory.octets / most()} />
                <span class="num nowrap right">
                  {octets(memory.octets)} <span class="muted">{percent(memory.octets / most())}</span>
                </span>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </section>
  );
}

/** What was refused since it began, by what and why. */
export function Refused(props: { now: CacheSnapshot }): JSX.Element {
  return (
    <section class="panel" aria-label="Rejected">
      <header>
        <h2>Rejected</h2>
        <span class="muted">since start</span>
      </header>
      <Show
        when={props.now.refused.length > 0}
        fallback={
          <p class="body remark">
            <span class="good-ink">
              <Icon name="good" />
            </span>
            Nothing was rejected.
          </p>
        }
      >
        <ul class="cache-refused">
          <For each={props.now.refused}>
            {(refused) => (
              <li>
                <span class="warn-ink">
                  <Icon name="warn" />
                </span>
                <span>
                  <b class="num">{whole(refused.total)}</b> {refused.what}: {refused.cause}
                </span>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </section>
  );
}

/** How it is set up. */
export function Settings(props: { now: CacheSnapshot }): JSX.Element {
  return (
    <Show when={props.now.settings.length > 0}>
      <details class="panel cache-settings">
        <summary>Settings ({props.now.settings.length})</summary>
        <dl class="body">
          <For each={props.now.settings}>
            {(setting) => (
              <div>
                <dt class="muted">{setting.name}</dt>
                <dd class="mono">{setting.value || "–"}</dd>
              </div>
            )}
          </For>
        </dl>
      </details>
    </Show>
  );
}
