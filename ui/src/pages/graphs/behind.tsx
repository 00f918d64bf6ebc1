// Dependencies: learnt from the map, and told of one device.

import { createResource, createSignal, For, Show, type JSX } from "solid-js";
import { get, post } from "../../api/client";
import type { GraphBehind, GraphDevice, GraphDevices } from "../../api/types";
import { of, whole } from "../../format";
import { Dialog } from "../../parts/dialog";
import { known } from "../../parts/known";
import { useSaving, type Doing } from "./of-many";

/** Devices that are listed before it is done. */
const LISTED = 50;
/** Devices that are offered. */
const OFFERED = 20;

const named = (devices: { name: string }[]): string => devices.map(({ name }) => name).join(", ") || "nobody";

/** Tells of all devices who is behind whom, as the map has it from a device outwards. */
export function LearnBehind(props: Doing & { from: { id: number; name: string } }): JSX.Element {
  const { error, save } = useSaving(props);
  const [replace, setReplace] = createSignal(false);
  const [plan] = createResource(
    () => ({ from: props.from.id, replace: replace(), limit: LISTED }),
    (question) => get<GraphBehind>("/graphs/behind", question),
  );
  const why = (does: string): string => (does === "kept" ? ", not changed" : does === "round" ? ", not changed: it would depend on itself" : "");
  return (
    <Dialog title="Dependencies" close={props.close}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void save(() => post("/graphs/behind", { from: [props.from.id], replace: replace() }));
        }}
      >
        <p>
          Polling starts at <b>{props.from.name}</b>: each device depends on its neighbours that are one hop nearer. While all upstream devices of a device are down, its alerts are suppressed.
        </p>
        <label class="row">
          <input type="checkbox" checked={replace()} onChange={(event) => setReplace(event.currentTarget.checked)} />
          <span>Also change devices that have other upstream devices set</span>
        </label>
        <Show when={known(plan)}>
          {(plan) => (
            <>
              <p>
                {of(plan().set, "device", "devices")} to change, {whole(plan().same)} already set, {whole(plan().kept + plan().round)} unchanged. The map has no path to {whole(plan().unreached)}.
              </p>
              <ul class="behind-list">
                <For each={plan().devices}>
                  {(device) => (
                    <li>
                      <b>{device.name}</b> via {named(device.behind)}
                      <span class="muted">
                        {device.before.length > 0 ? `, before: ${named(device.before)}` : ""}
                        {why(device.does)}
                      </span>
                    </li>
                  )}
                </For>
              </ul>
              <Show when={plan().set + plan().kept + plan().round > plan().devices.length}>
                <p class="muted">{whole(plan().set + plan().kept + plan().round - plan().devices.length)} more</p>
              </Show>
            </>
          )}
        </Show>
        <Show when={error() || plan.error}>
          <p class="bad-ink" role="alert">
            {error() || String(plan.error?.message ?? plan.error)}
          </p>
        </Show>
        <button class="button primary" disabled={plan.loading || !known(plan)?.set}>
          Save
        </button>
      </form>
    </Dialog>
  );
}

/** Says through which devices one is reached. */
export function BehindOf(props: Doing & { device: GraphDevice }): JSX.Element {
  const { error, save } = useSaving(props);
  const [behind, setBehind] = createSignal(props.device.behind);
  const [text, setText] = createSignal("");
  const [found] = createResource(text, (text) => get<GraphDevices>("/graphs/devices", { text, limit: OFFERED }));
  const offered = (): { id: number; name: string }[] => (known(found)?.devices ?? []).filter(({ id }) => id !== props.device.id && behind().every((one) => one.id !== id));
  return (
    <Dialog title={`Upstream devices of ${props.device.name}`} close={props.close}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void save(() => post(`/graphs/devices/${props.device.id}/behind`, { behind: behind().map(({ id }) => id) }));
        }}
      >
        <p>The device is reached through these devices. While all of them are down, its alerts are suppressed.</p>
        <ul class="behind-list">
          <For each={behind()} fallback={<li class="muted">None: the device has no upstream device.</li>}>
            {(one) => (
              <li class="row">
                <b>{one.name}</b>
                <button type="button" class="button quiet" aria-label={`Remove ${one.name}`} onClick={() => setBehind(behind().filter(({ id }) => id !== one.id))}>
                  Remove
                </button>
              </li>
            )}
          </For>
        </ul>
        <label class="field">
          <span>Add an upstream device</span>
          <input class="input" type="search" autocomplete="off" spellcheck={false} placeholder="Name or address" value={text()} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <Show when={text()}>
          <ul class="behind-list" aria-label="Matching devices">
            <For each={offered()} fallback={<Show when={!found.loading}><li class="muted">No other device matches.</li></Show>}>
              {(one) => (
                <li>
                  <button
                    type="button"
                    class="button"
                    onClick={() => {
                      setBehind([...behind(), { id: one.id, name: one.name }]);
                      setText("");
                    }}
                  >
                    {one.name}
                  </button>
                </li>
              )}
            </For>
          </ul>
        </Show>
        <Show when={error()}>
          <p class="bad-ink" role="alert">
            {error()}
          </p>
        </Show>
        <button class="button primary">Save</button>
      </form>
    </Dialog>
  );
}
