// A graph as it is read now: as long as somebody looks, its devices are asked every second or few.

import { createEffect, createResource, on, Show, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { GraphRealtime } from "../../api/types";
import { Icon } from "../../parts/icon";
import { known } from "../../parts/known";
import { Loading, Trouble } from "../../parts/states";
import { Time } from "../../parts/time";
import { useEvery } from "../charge/every";
import { Shown } from "./shown";

/** Seconds between two readings that can be chosen. */
export const REAL_TIME_STEPS = [1, 2, 5, 10, 30];
/** Readings that are seen at once. */
const READINGS = 300;

export function RealTime(props: { id: string; step: number }): JSX.Element {
  const ask = (): { id: string; step: number } => ({ id: props.id, step: props.step });
  const [seen, again] = createResource(ask, ({ id, step }) => get<GraphRealtime>(`/graphs/${id}/realtime`, { step, span: step * READINGS }));
  createEffect(on(() => props.step, (step) => useEvery(step * 1000, () => void (seen.loading || again.refetch()))));
  return (
    <Show when={known(seen)} fallback={<Show when={seen.error} fallback={<Loading what="the first values" />}>{<Trouble error={seen.error} retry={() => void again.refetch()} />}</Show>}>
      {(now) => (
        <>
          <div class="graphs-now muted" role="status">
            <span classList={{ "graphs-beats": now().heard !== null }}>
              <Icon name={now().heard === null ? "clock" : "good"} size={16} />
            </span>
            <p>
              <Show when={now().heard} fallback={`No data yet: devices are polled every ${now().step} s. `}>
                {(at) => (
                  <>
                    Read every {now().step} s, last at <Time at={at()} shape="clock" />. Real-time data is not stored.{" "}
                  </>
                )}
              </Show>
              {now().troubles.map((trouble) => (
                <strong class="bad-ink">{trouble} </strong>
              ))}
            </p>
          </div>
          <Shown picture={now().picture} span={[now().picture.start * 1000, (now().picture.start + now().picture.rows * now().picture.step) * 1000]} />
        </>
      )}
    </Show>
  );
}
