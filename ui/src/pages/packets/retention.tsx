import { For, Show, type JSX } from "solid-js";
import type { Retention } from "../../api/types";
import { octets } from "../../format";
import { Fill } from "../../parts/fill";
import { span } from "../../time";
import { Time } from "../../parts/time";
import "./retention.css";

/** What is kept of each class, how much there is, and how far back it reaches. */
export function RetentionTable(props: { retention: Retention[] }): JSX.Element {
  return (
    <Show when={props.retention.length > 0} fallback={<p class="body muted">There is no packet log.</p>}>
      <div class="scroll">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Class</th>
              <th scope="col">Rule</th>
              <th scope="col" class="right">Stored</th>
              <th scope="col">Limit used</th>
              <th scope="col">Oldest packet</th>
              <th scope="col" class="right">Holds at this rate</th>
            </tr>
          </thead>
          <tbody>
            <For each={props.retention}>
              {(one) => (
                <tr>
                  <td>{one.class}</td>
                  <td class="retention-rule">{one.rule}</td>
                  <td class="right nowrap">{octets(one.stored_octets)}</td>
                  <td>
                    <Show when={one.limit_octets} fallback={<span class="muted">no limit</span>}>
                      {(limit) => (
                        <span class="row">
                          <Fill share={one.stored_octets / limit()} label={`${one.class}: use of its limit`} />
                          <span class="num nowrap">{octets(limit())}</span>
                        </span>
                      )}
                    </Show>
                  </td>
                  <td>{one.oldest ? <Time at={one.oldest} /> : "–"}</td>
                  <td class="right nowrap">{one.days_estimated === null ? "–" : span(one.days_estimated * 86_400)}</td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
    </Show>
  );
}
