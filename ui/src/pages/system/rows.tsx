import { For, Show, type JSX } from "solid-js";
import type { LiveStatus } from "../../api/types";
import { octets, whole } from "../../format";
import { Fill } from "../../parts/fill";
import { Icon } from "../../parts/icon";

/** The rows of calls and charges: how much there is, what left, and what keeps rows from leaving. */
export function Rows(props: { rows: LiveStatus["rows"] }): JSX.Element {
  return (
    <Show when={props.rows}>
      {(rows) => (
        <section class="panel" aria-label="Store">
          <header>
            <h2>Row store</h2>
          </header>
          <div class="body">
            <Show when={rows().octets_max} fallback={<span class="num">{octets(rows().octets)}</span>}>
              {(most) => (
                <div class="system-ring">
                  <Fill share={rows().octets / Math.max(1, most())} label="Use of the store" />
                  <span class="num nowrap">
                    {octets(rows().octets)} of {octets(most())}
                  </span>
                </div>
              )}
            </Show>
            <span class="muted num">
              {whole(rows().left_rows_total)} rows, {octets(rows().left_octets_total)} deleted by age and size since start
            </span>
          </div>
          <Show when={rows().trouble.length > 0}>
            <ul class="system-ills">
              <For each={rows().trouble}>
                {(line) => (
                  <li>
                    <span class="warn-ink">
                      <Icon name="warn" />
                    </span>
                    {line}
                  </li>
                )}
              </For>
            </ul>
          </Show>
        </section>
      )}
    </Show>
  );
}
