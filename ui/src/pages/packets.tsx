// The packet log: what was recorded when, what is missing, how long it is kept; drag over a span to get its packets.

import { useSearchParams } from "@solidjs/router";
import { createMemo, createResource, Match, Show, Switch, type JSX } from "solid-js";
import { get } from "../api/client";
import type { PacketTimeline } from "../api/types";
import { bits, whole } from "../format";
import { Head } from "../parts/head";
import { known } from "../parts/known";
import { RangePicker } from "../parts/range-picker";
import { Empty, Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { Timeline, type Mark, type Series } from "../parts/timeline";
import { absolute, resolve, useRange } from "../range";
import { may } from "../session";
import { ms, rfc3339 } from "../time";
import { ExtractPanel } from "./packets/extract";
import { Losses } from "./packets/losses";
import { RetentionTable } from "./packets/retention";
import { Segments } from "./packets/segments";
import "./packets/packets.css";

const BUCKETS = 120;
/** More marks than this are a band: the table below lists them all. */
const MARKS_MAX = 60;

export default function Packets(): JSX.Element {
  const [range, setRange] = useRange("now-1h");
  const [search, setSearch] = useSearchParams<{ span?: string; filter?: string }>();
  const asked = createMemo(() => ({ from: range().from, to: range().to }));
  const [timeline, { refetch }] = createResource(asked, (asked) => get<PacketTimeline>("/packets/timeline", { ...asked, buckets: BUCKETS }));
  // One array per answer: the chart tells its series apart by identity.
  const told = createMemo(() => known(timeline));
  const bars = createMemo(() => (told() ? series(told()!) : []));
  const choose = (from: number, to: number): void => {
    setSearch({ span: `${rfc3339(from)}..${rfc3339(to)}` }, { replace: true });
  };
  return (
    <>
      <Head title="Packets" about={<About timeline={told()} />}>
        <RangePicker range={range()} onChange={setRange} />
      </Head>
      <Switch fallback={<Loading what="the packet log" />}>
        <Match when={timeline.error}>
          <Trouble error={timeline.error} retry={() => void refetch()} />
        </Match>
        <Match when={told() && isEmpty(told()!)}>
          <div class="packets">
            <div class="panel">
              <Empty icon="packets" title="No packets are recorded">
                <p>
                  The calls shown were read from capture files, and their packets are read from those files. A running capture records all packets unless{" "}
                  <code>record.enabled</code> is off; <code>trunkline packets index FILE</code> makes a capture file searchable in place.
                </p>
              </Empty>
            </div>
          </div>
        </Match>
        <Match when={told()}>
          {(timeline) => (
            <div class="packets">
              <section class="panel" aria-label="Recorded packets over time">
                <header>
                  <h2>Recorded</h2>
                  <span class="muted">bits per second; {may("packets.extract") ? "drag to select a time range and extract its packets" : "your role may not extract packets"}</span>
                </header>
                <div class="body">
                  <Timeline
                    label="Recorded rate"
                    from={timeline().from === null ? shown(asked()).from : ms(timeline().from!)}
                    to={timeline().to === null ? shown(asked()).to : ms(timeline().to!)}
                    bucketMs={timeline().bucket_s * 1000}
                    series={bars()}
                    marks={marks(timeline())}
                    tell={bits}
                    rates
                    height={140}
                    {...(may("packets.extract") ? { onZoom: choose } : {})}
                  />
                </div>
              </section>
              <Show when={may("packets.extract")}>
                <ExtractPanel
                  span={span(search.span) ?? shown(asked())}
                  filter={search.filter ?? ""}
                  onFilter={(filter) => setSearch({ filter: filter || undefined }, { replace: true })}
                  onZoom={(from, to) => setRange(absolute(from, to))}
                  chosen={search.span !== undefined}
                  onWhole={() => setSearch({ span: undefined }, { replace: true })}
                />
              </Show>
              <section class="panel" aria-label="Retention">
                <header>
                  <h2>Retention</h2>
                </header>
                <RetentionTable retention={timeline().retention} />
              </section>
              <Losses losses={timeline().losses} />
              <Segments range={asked()} />
            </div>
          )}
        </Match>
      </Switch>
    </>
  );
}

const isEmpty = (timeline: PacketTimeline): boolean => timeline.newest === null && timeline.losses.length === 0;

function About(props: { timeline: PacketTimeline | undefined }): JSX.Element {
  const lost = (): number => props.timeline?.lost ?? 0;
  return (
    <span class="muted">
      <Show when={props.timeline?.oldest}>
        from <Time at={props.timeline?.oldest} /> to <Time at={props.timeline?.newest} />
      </Show>
      <Show when={lost() > 0}>
        , <span class="bad-ink num">{props.timeline?.lost_more ? "more than " : ""}{whole(lost())} lost</span> in this range
      </Show>
    </span>
  );
}

function series(timeline: PacketTimeline): Series[] {
  const rate = (octets: number): number => (octets * 8) / timeline.bucket_s;
  return [
    { name: "sip", meaning: "c-1", values: timeline.buckets.map((bucket) => rate(bucket.octets.sip)) },
    { name: "rtp", meaning: "c-3", values: timeline.buckets.map((bucket) => rate(bucket.octets.rtp)) },
    { name: "other", meaning: "c-6", values: timeline.buckets.map((bucket) => rate(bucket.octets.other)) },
  ];
}

function marks(timeline: PacketTimeline): Mark[] {
  const losses = [...timeline.losses].sort((a, b) => b.count - a.count).slice(0, MARKS_MAX);
  return losses.map((loss) => ({ at: ms(loss.since), to: ms(loss.at), name: `${whole(loss.count)} lost: ${loss.place}`, meaning: "bad" }));
}

function span(text: string | undefined): { from: number; to: number } | undefined {
  const [from, to] = (text ?? "").split("..").map((end) => resolve(end));
  return from !== undefined && to !== undefined && from < to ? { from, to } : undefined;
}

const shown = (range: { from: string; to: string }): { from: number; to: number } => ({ from: resolve(range.from) ?? Date.now() - 36e5, to: resolve(range.to) ?? Date.now() });
