import { For, Show, type JSX } from "solid-js";
import type { CacheSnapshot } from "../../api/types";
import { duration, octets, percent, whole } from "../../format";
import { Time } from "../../parts/time";
import { perSecond } from "./words";

/** Rows that are shown of a list. */
const ROWS_MAX = 15;

/** The keys that are asked for most. */
export function HotKeys(props: { now: CacheSnapshot }): JSX.Element {
  return (
    <section class="panel" aria-label="Hot keys">
      <header>
        <h2>Hot keys</h2>
        <span class="muted">most requested keys recently, sampled</span>
      </header>
      <Show when={props.now.hot_keys?.length} fallback={<p class="body muted">{props.now.hot_keys === null ? "Not available: memcached has no such list." : "No key is requested more than others."}</p>}>
        <div class="scroll" tabindex="0" role="group" aria-label="Table of hot keys">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Key</th>
                <th scope="col" class="right">
                  Requests
                </th>
                <th scope="col" class="right">
                  Share
                </th>
              </tr>
            </thead>
            <tbody>
              <For each={props.now.hot_keys!.slice(0, ROWS_MAX)}>
                {(hot) => (
                  <tr>
                    <td class="mono cache-key">{hot.key}</td>
                    <td class="right nowrap num">{perSecond(hot.requests_per_s)}</td>
                    <td class="right nowrap num">{percent(hot.share)}</td>
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

/** The commands that took longest, the newest first. */
export function SlowCommands(props: { now: CacheSnapshot }): JSX.Element {
  return (
    <section class="panel" aria-label="Slow commands">
      <header>
        <h2>Slow commands</h2>
        <span class="muted">the newest first</span>
      </header>
      <Show when={props.now.slow_commands?.length} fallback={<p class="body muted">{props.now.slow_commands === null ? "Not available: memcached has no such list." : "No slow commands."}</p>}>
        <div class="scroll" tabindex="0" role="group" aria-label="Table of slow commands">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col" class="right">
                  Duration
                </th>
                <th scope="col">Command</th>
                <th scope="col" class="right">
                  Keys
                </th>
                <th scope="col" class="right">
                  Size
                </th>
                <th scope="col">Client</th>
              </tr>
            </thead>
            <tbody>
              <For each={props.now.slow_commands!.slice(0, ROWS_MAX)}>
                {(slow) => (
                  <tr>
                    <td>
                      <Time at={slow.unix_us / 1000} shape="clock" />
                    </td>
                    <td class="right nowrap num" title={`${duration(slow.served_us / 1000)} without waiting for the client`}>
                      {duration(slow.took_us / 1000)}
                      <Show when={slow.waited}>
                        <span class="muted"> waiting for the client</span>
                      </Show>
                    </td>
                    <td class="mono cache-key">
                      {slow.command} {slow.key}
                    </td>
                    <td class="right num">{whole(slow.keys)}</td>
                    <td class="right nowrap num">{octets(slow.octets)}</td>
                    <td class="mono nowrap">{slow.peer}</td>
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
