// No calls to show: why, and what to do. Looks where there are some with what was asked, and without.

import { createEffect, createResource, createSignal, For, Match, on, onCleanup, Show, Switch, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { CallsSummary, NotAnalysed, SystemAnswer } from "../../api/types";
import { of } from "../../format";
import { Empty, Loading } from "../../parts/states";
import { known } from "../../parts/known";
import { hidingCalls, NotAnalysedList } from "../../parts/not-analysed";
import { limits, rangeText } from "../../parts/range-text";
import { zone } from "../../prefs";
import { absolute, type Range } from "../../range";
import { may, session } from "../../session";
import { rfc3339 } from "../../time";
import { parts, without } from "./edit";
import { nearest, PAUSE_MS, type Stretch } from "./nearest";
import "./nothing.css";

const BUCKETS = 1000;

interface Found {
  /** Calls of the range without the filter. */
  inRange: number;
  /** Calls of the filter at any time. */
  elsewhere: Stretch | undefined;
  /** Whether there is any call at all. */
  any: boolean;
  /** Calls of the range without one part of the filter. */
  dropped: { text: string; filter: string; calls: number }[];
}

export interface NothingProps {
  filter: string;
  range: Range;
  setFilter: (filter: string) => void;
  setRange: (range: Range) => void;
  upload: () => void;
}

export function Nothing(props: NothingProps): JSX.Element {
  const [found, setFound] = createSignal<Found>();
  createEffect(
    on([() => props.filter, () => props.range.from, () => props.range.to], ([filter, from, to]) => {
      const abort = new AbortController();
      onCleanup(() => abort.abort());
      setFound(undefined);
      look(filter, { from, to }, abort.signal).then(setFound, () => !abort.signal.aborted && setFound({ inRange: 0, elsewhere: undefined, any: true, dropped: [] }));
    }),
  );
  const goThere = (there: Stretch): void => props.setRange(absolute(there.from, there.to));
  return (
    <Show when={found()} fallback={<Loading what="the nearest calls" />}>
      {(now) => (
        <Switch>
          <Match when={!now().any}>
            <NoneAtAll upload={props.upload} />
          </Match>
          <Match when={props.filter === ""}>
            <Empty icon="calls" title={`No calls: ${rangeText(props.range, zone()).toLowerCase()}`}>
              <Elsewhere there={now().elsewhere} go={goThere} />
            </Empty>
          </Match>
          <Match when={true}>
            <Empty icon="filter" title="No calls match">
              <p>
                {now().inRange > 0 ? `${of(now().inRange, "call", "calls")} in this time range.` : "There are no calls in this time range."}
              </p>
              <div class="ways">
                <For each={now().dropped}>
                  {(one) => (
                    <button class="button" onClick={() => props.setFilter(one.filter)}>
                      Without <code class="clip">{one.text}</code> <span class="muted num">{of(one.calls, "call", "calls")}</span>
                    </button>
                  )}
                </For>
                <Show when={now().inRange > 0}>
                  <button class="button" onClick={() => props.setFilter("")}>
                    Clear filter
                  </button>
                </Show>
              </div>
              <Elsewhere there={now().elsewhere} go={goThere} />
            </Empty>
          </Match>
        </Switch>
      )}
    </Show>
  );
}

function Elsewhere(props: { there: Stretch | undefined; go: (there: Stretch) => void }): JSX.Element {
  return (
    <Show when={props.there}>
      {(there) => (
        <div class="ways">
          <span>Nearest calls:</span>
          <button class="button primary" onClick={() => props.go(there())}>
            {of(there().calls, "call", "calls")}: {rangeText(absolute(there().from, there().to), zone())}
          </button>
        </div>
      )}
    </Show>
  );
}

function NoneAtAll(props: { upload: () => void }): JSX.Element {
  const [system] = createResource(() => get<SystemAnswer>("/system"));
  // Of the capture that runs, else of what was read.
  const seen = (): NotAnalysed[] => {
    const live = hidingCalls();
    return live.length > 0 ? live : (known(system)?.read_not_analysed ?? []).filter((one) => one.may_hide_calls);
  };
  return (
    <Empty icon="calls" title="No calls yet">
      <Show when={seen().length > 0}>
        <p>Trunkline saw protocols that may carry calls, but it does not decode them:</p>
        <NotAnalysedList seen={seen()} />
      </Show>
      <p>No calls have been captured or imported yet. To get calls:</p>
      <dl class="ways-to-begin">
        <dt>
          <code>trunkline open FILE.pcap</code>
        </dt>
        <dd>opens a capture file</dd>
        <dt>
          <code>trunkline run -i eth0</code>
        </dt>
        <dd>captures from an interface</dd>
        <dt>
          <code>trunkline demo</code>
        </dt>
        <dd>runs a demo with known faults</dd>
      </dl>
      <Show when={session()?.uploads && may("captures.upload")}>
        <p>
          Or drop a capture onto this page, or{" "}
          <button class="button" onClick={() => props.upload()}>
            choose a file
          </button>
        </p>
      </Show>
    </Empty>
  );
}

/** Two questions, and one for each part of the filter: all beside each other. */
async function look(filter: string, range: Range, signal: AbortSignal): Promise<Found> {
  // Without a range the program takes that of all its calls.
  const ask = (filter: string, from: string, to: string, buckets: number): Promise<CallsSummary> => get<CallsSummary>("/calls/summary", { filter, from, to, buckets, tz: zone() }, signal);
  const all = parts(filter);
  const [everywhere, inRange, ...each] = await Promise.all([
    ask(filter, "", "", 0),
    filter === "" ? undefined : ask("", range.from, range.to, 0),
    ...(all.length > 1 ? all.slice(0, 6).map((_, i) => ask(without(filter, i), range.from, range.to, 0)) : []),
  ]);
  // A day that cannot be read may hold some.
  const any = (everywhere.skipped?.length ?? 0) > 0 || everywhere.totals.calls > 0 || (inRange?.totals.calls ?? 0) > 0 || (filter !== "" && (await ask("", "", "", 0)).totals.calls > 0);
  const dropped = all.slice(0, each.length).map((part, i) => ({ text: part.text, filter: without(filter, i), calls: each[i]?.totals.calls ?? 0 }));
  return { inRange: inRange?.totals.calls ?? 0, any, dropped: dropped.filter((one) => one.calls > 0), elsewhere: everywhere.totals.calls > 0 ? await near(ask, filter, range) : undefined };
}

/** Asks in ever shorter spans, that the button names the minutes in which the calls were and not their month. */
async function near(ask: (filter: string, from: string, to: string, buckets: number) => Promise<CallsSummary>, filter: string, range: Range): Promise<Stretch | undefined> {
  const here = limits(range) ?? { from: Date.now(), to: Date.now() };
  let span = { from: "", to: "" };
  let there: Stretch | undefined;
  for (let turn = 0; turn < 3; turn += 1) {
    const buckets = await ask(filter, span.from, span.to, BUCKETS);
    const next = nearest(buckets, here);
    if (!next) break;
    there = next;
    if (buckets.bucket_s * 1000 <= PAUSE_MS) break;
    span = { from: rfc3339(next.from), to: rfc3339(next.to) };
  }
  return there;
}
