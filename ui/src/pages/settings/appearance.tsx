import { For, type JSX } from "solid-js";
import { ZoneChoice } from "../../parts/zone-choice";
import { setTheme, theme, type Theme } from "../../prefs";
import { Time } from "../../parts/time";

const THEMES: { value: Theme; name: string }[] = [
  { value: "system", name: "System" },
  { value: "light", name: "Light" },
  { value: "dark", name: "Dark" },
];

export function Appearance(): JSX.Element {
  return (
    <section class="panel">
      <header>
        <h2>Appearance</h2>
        <span class="muted">stored in this browser</span>
      </header>
      <div class="body stack">
        <fieldset class="choices">
          <legend>Colours</legend>
          <For each={THEMES}>
            {(one) => (
              <label>
                <input type="radio" name="theme" value={one.value} checked={theme() === one.value} onChange={() => setTheme(one.value)} />
                {one.name}
              </label>
            )}
          </For>
        </fieldset>
        <ZoneChoice />
        <p class="muted">
          Current time <Time at={Date.now()} />. Hover over a time to see it in UTC.
        </p>
      </div>
    </section>
  );
}
