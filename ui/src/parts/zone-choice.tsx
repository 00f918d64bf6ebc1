import { For, type JSX } from "solid-js";
import { setZone, zoneChoice } from "../prefs";

const zones = (): string[] => ["UTC", ...Intl.supportedValuesOf("timeZone")];

/** One choice of zone for what is searched, shown and exported. */
export function ZoneChoice(): JSX.Element {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <label class="field">
      <span>Time zone for display, search and export</span>
      <select class="input" value={zoneChoice()} onChange={(event) => setZone(event.currentTarget.value)}>
        <option value="browser">Browser time zone ({own})</option>
        <For each={zones()}>{(name) => <option value={name}>{name}</option>}</For>
      </select>
    </label>
  );
}
