import { A } from "@solidjs/router";
import { For, Show, type JSX } from "solid-js";
import { alerts, feed, status } from "../../live";
import { Icon } from "../../parts/icon";

/** What someone should look at, most urgent first, each with where to look. */
export function Attention(): JSX.Element {
  const items = (): { kind: string; text: string; link: string | null }[] => (feed() === "idle" ? alerts()?.attention : status()?.attention) ?? [];
  return (
    <section class="panel" aria-label="What needs attention">
      <header>
        <h2>Needs attention</h2>
      </header>
      <Show
        when={items().length > 0}
        fallback={
          <p class="body remark good-ink">
            <Icon name="good" /> <span class="muted">Nothing: no packet loss, disks keep up, no unusual calls.</span>
          </p>
        }
      >
        <ul class="now-attention">
          <For each={items()}>
            {(item) => (
              <li>
                <span class={item.kind === "alert" ? "bad-ink" : "warn-ink"}>
                  <Icon name={item.kind === "alert" ? "bad" : "warn"} />
                </span>
                <span>{item.text}</span>
                <Show when={item.link}>
                  {(link) => (
                    <A class="button" href={link()}>
                      Open
                    </A>
                  )}
                </Show>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </section>
  );
}
