import { createMemo, For, Show, type JSX } from "solid-js";
import type { Loss } from "../../api/types";
import { whole } from "../../format";
import { Icon } from "../../parts/icon";
import { Time } from "../../parts/time";

const SHOWN_MAX = 200;

/** What the capture itself lost, by place and time: the figures that one shows a carrier first. */
export function Losses(props: { losses: Loss[] }): JSX.Element {
  const sorted = createMemo(() => [...props.losses].sort((a, b) => (a.at < b.at ? 1 : -1)).slice(0, SHOWN_MAX));
  return (
    <section class="panel" aria-label="Losses of the capture">
      <header>
        <h2>Lost by the capture</h2>
        <span class="muted num">{props.losses.length > SHOWN_MAX ? `the last ${SHOWN_MAX} of ${whole(props.losses.length)} reports` : ""}</span>
      </header>
      <Show
        when={sorted().length > 0}
        fallback={
          <p class="body row">
            <span class="good-ink">
              <Icon name="good" />
            </span>
            Nothing was lost in this range.
          </p>
        }
      >
        <div class="scroll">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Between</th>
                <th scope="col">and</th>
                <th scope="col">Where</th>
                <th scope="col">Source</th>
                <th scope="col" class="right">Lost</th>
              </tr>
            </thead>
            <tbody>
              <For each={sorted()}>
                {(loss) => (
                  <tr>
                    <td>
                      <Time at={loss.since} />
                    </td>
                    <td>
                      <Time at={loss.at} shape="clock" />
                    </td>
                    <td>{loss.place}</td>
                    <td>{loss.source}</td>
                    <td class="right">{whole(loss.count)}</td>
                  </tr>
                )}
              </For>
            </tbody>
          </table>
        </div>
      </Show>
    </section>
  );
}
