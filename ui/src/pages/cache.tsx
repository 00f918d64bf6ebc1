// Caches: does it help (hit ratio), does it hold (memory, evictions), and who asks for what (hot keys, slow commands).

import { useSearchParams } from "@solidjs/router";
import { createEffect, createMemo, createResource, For, Match, on, Show, Switch, type JSX } from "solid-js";
import { get } from "../api/client";
import type { CacheHistory, CachesPage, CacheState } from "../api/types";
import { beat, status } from "../live";
import { Head } from "../parts/head";
import { Icon } from "../parts/icon";
import { useKeys } from "../parts/keys";
import { known } from "../parts/known";
import { Empty, Loading, Trouble } from "../parts/states";
import { span } from "../time";
import { Figures } from "./cache/figures";
import { HotKeys, SlowCommands } from "./cache/lists";
import { Memory, Refused, Settings } from "./cache/memory";
import { OverTime } from "./cache/over-time";
import { Shapes } from "./cache/shapes";
import { nextOf } from "./cache/words";
import "./cache/cache.css";

/** Milliseconds between two looks, and from one time that the hour is asked for to the next. */
const LOOK_MS = 1_900;
const HOUR_MS = 9_500;

export default function Cache(): JSX.Element {
  const [search, setSearch] = useSearchParams<{ cache?: string }>();
  const [page, pageAgain] = createResource(() => get<CachesPage>("/cache"));
  const all = (): CacheState[] => known(page)?.caches ?? [];
  const chosen = createMemo(() => all().find((cache) => cache.name === search.cache) ?? (search.cache === undefined ? all()[0] : undefined));
  const [hour, hourAgain] = createResource(
    () => chosen()?.name,
    (cache) => get<CacheHistory>("/cache/history", { cache }),
  );
  let [looked, hourLooked] = [Date.now(), Date.now()];
  // The beat of the live feed says that time has passed: no timer of its own, and none while nobody looks.
  createEffect(
    on(
      beat,
      () => {
        const now = Date.now();
        if (now - looked >= LOOK_MS && !page.loading) {
          looked = now;
          void pageAgain.refetch();
        }
        if (now - hourLooked >= HOUR_MS && !hour.loading && chosen()) {
          hourLooked = now;
          void hourAgain.refetch();
        }
      },
      { defer: true },
    ),
  );
  const choose = (name: string | undefined): void => void (name !== undefined && setSearch({ cache: name }));
  const step = (by: number): void => choose(nextOf(all().map((cache) => cache.name), chosen()?.name, by));
  useKeys([
    { keys: "]", what: "the next cache", run: () => step(1) },
    { keys: "[", what: "the previous cache", run: () => step(-1) },
  ]);
  return (
    <>
      <Head title="Cache" about={<Show when={chosen()}>{(cache) => <About cache={cache()} />}</Show>}>
        <Show when={all().length > 1}>
          <select class="input" aria-label="Cache" value={chosen()?.name ?? ""} onChange={(event) => choose(event.currentTarget.value)}>
            <For each={all()}>
              {(cache) => (
                <option value={cache.name} selected={cache.name === chosen()?.name}>
                  {cache.name}
                  {cache.trouble ? " – not responding" : ""}
                </option>
              )}
            </For>
          </select>
        </Show>
      </Head>
      <Switch fallback={<Loading what="the caches" />}>
        <Match when={page.error && !known(page)}>
          <Trouble error={page.error} retry={() => void pageAgain.refetch()} />
        </Match>
        <Match when={chosen()}>
          {(cache) => <Body cache={cache()} hour={known(hour)?.name === cache().name ? known(hour) : undefined} />}
        </Match>
        <Match when={known(page)}>
          <div class="cache">
            <div class="panel">
              <Nothing asked={search.cache} some={all().length > 0} />
            </div>
          </div>
        </Match>
      </Switch>
    </>
  );
}

function About(props: { cache: CacheState }): JSX.Element {
  return (
    <span class="muted">
      {props.cache.name}
      <Show when={props.cache.now}>
        {(now) => (
          <>
            {now().version ? `, ${now().version}` : ""}
            <Show when={now().uptime_s !== null}>, up for {span(now().uptime_s!)}</Show>
          </>
        )}
      </Show>
      <Show when={props.cache.name === "this run" && status()?.source === "demo"}>, with simulated traffic</Show>
    </span>
  );
}

function Body(props: { cache: CacheState; hour: CacheHistory | undefined }): JSX.Element {
  return (
    <div class="cache">
      <Show when={props.cache.trouble}>
        {(why) => (
          <section class="panel" aria-label="Problems">
            <p class="body remark">
              <span class="bad-ink">
                <Icon name="bad" />
              </span>
              <span>
                The cache cannot be read: {why()}. <span class="muted">This page reconnects by itself.</span>
              </span>
            </p>
          </section>
        )}
      </Show>
      <Show when={props.cache.now}>{(now) => <Figures cache={props.cache} now={now()} />}</Show>
      <OverTime hour={props.hour} />
      <Show when={props.cache.now}>
        {(now) => (
          <>
            <div class="cache-columns">
              <Memory now={now()} />
              <Refused now={now()} />
            </div>
            <Shapes now={now()} />
            <div class="cache-columns">
              <HotKeys now={now()} />
              <SlowCommands now={now()} />
            </div>
            <Settings now={now()} />
          </>
        )}
      </Show>
    </div>
  );
}

/** No cache, or none of the name that the address has. */
function Nothing(props: { asked: string | undefined; some: boolean }): JSX.Element {
  return (
    <Show
      when={props.asked !== undefined && props.some}
      fallback={
        <Empty title="No cache">
          <p>
            The running Trunkline serves no cache, and the configuration names no other one. <code>[cache] listen = ["127.0.0.1:11211"]</code> makes <code>trunkline run</code> serve one.
          </p>
          <p>
            <code>[web] caches = ["10.0.0.5:11211"]</code> shows a cache of another process: <code>trunkline cache</code> or memcached.
          </p>
        </Empty>
      }
    >
      <Empty title="Cache not found">
        <p>No cache is named {props.asked}. Choose one in the list above.</p>
      </Empty>
    </Show>
  );
}
