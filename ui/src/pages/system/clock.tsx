import { For, Show, type JSX } from "solid-js";
import type { ClockSteps } from "../../api/types";
import { whole } from "../../format";
import { Icon } from "../../parts/icon";
import { Time } from "../../parts/time";

/** Steps of a clock: when, by how much, and in which file. */
export function Clock(props: { title: string; steps: ClockSteps | undefined }): JSX.Element {
  const newest = (): ClockSteps["newest"] => props.steps?.newest ?? [];
  const earlier = (): number => (props.steps?.total ?? 0) - newest().length;
  return (
    <Show when={newest().length > 0}>
      <section class="panel" aria-label={props.title}>
        <header>
          <h2>{props.title}</h2>
        </header>
        <ul class="system-ills">
          <For each={newest()}>
            {(step) => (
              <li>
                <span class={step.what === "clock-set" ? "warn-ink" : "bad-ink"}>
                  <Icon name={step.what === "clock-set" ? "warn" : "bad"} />
                </span>
                <span>
                  <Time at={step.at_ns / 1e6} /> the clock {step.text}
                  <span class="muted">
                    {" "}
                    ({step.why}
                    <Show when={step.packet}>{(packet) => <>; before packet {whole(packet())}</>}</Show>
                    <Show when={step.files.length > 0}>; {step.files.join(" to ")}</Show>)
                  </span>
                </span>
              </li>
            )}
          </For>
        </ul>
        <Show when={earlier() > 0}>
          <p class="body muted">
            <span class="num">{whole(earlier())}</span> earlier steps are not listed.
          </p>
        </Show>
      </section>
    </Show>
  );
}
