import { createMemo, For, Show, type JSX } from "solid-js";
import type { Loss } from "../../api/types";
import { whole } from "../../format";
import { Icon } from "../../parts/icon";
import { Time } from "../../parts/time";

const SHOWN_MAX = 50;

/** Where packets go missing, from the wire to the disk. */
const PLACES: Record<string, string> = {
  mirror: "before the tap: gaps in unrelated streams at the same time",
  card: "in the network card",
  "operating-system": "in the kernel, before the capture ring",
  ring: "in the capture ring",
  buffer: "in memory, before writing to disk",
  disk: "at the disk",
};

/** What the capture did not get, by place and time: the figures that one shows a carrier first. */
export function Losses(props: { losses: Loss[] }): JSX.Element {
  const sorted = createMemo(() => [...props.losses].sort((a, b) => (a.at < b.at ? 1 : -1)).slice(0, SHOWN_MAX));
  return (
    <section class="panel" aria-label="Lost packets">
      <header>
        <h2>Lost packets</h2>
        <span class="muted num">{props.losses.length > SHOWN_MAX ? `last ${SHOWN_MAX} of ${whole(props.losses.length)} reports` : ""}</span>
      </header>
      <Show
        when={sorted().length > 0}
        fallback={
          <p class="body remark">
            <span class="good-ink">
              <Icon name="good" />
            </span>
            No lost packets known in this range.
          </p>
        }
      >
        <div class="scroll">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">From</th>
                <th scope="col">To</th>
                <th scope="col">Lost at</th>
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
                    <td>
                      <b>{loss.place}</b> <span class="muted">{PLACES[loss.place] ?? ""}</span>
                    </td>
                    <td class="nowrap">{loss.source || "–"}</td>
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
