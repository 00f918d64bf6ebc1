// The range of time of a page: what is shown, one step back and forth, presets, and any two moments.

import { createSignal, createUniqueId, For, Show, type JSX } from "solid-js";
import { isRelative, PRESETS, type Range } from "../range";
import { zone } from "../prefs";
import { full, rfc3339 } from "../time";
import { offsetName, parseWall } from "../wall";
import { Icon } from "./icon";
import { Popover } from "./popover";
import { limits, moved, rangeText, widened } from "./range-text";
import "./range-picker.css";

export interface RangePickerProps {
  range: Range;
  onChange: (range: Range) => void;
  /** In place of widening, where a page knows what it was zoomed from. */
  onWider?: () => void;
}

export function RangePicker(props: RangePickerProps): JSX.Element {
  const ahead = (): boolean => (limits(props.range)?.to ?? Infinity) >= Date.now() - 1000;
  const wider = (): void => (props.onWider ? props.onWider() : props.onChange(widened(props.range)));
  return (
    <div class="range" role="group" aria-label="Time range">
      <button type="button" class="button icon" aria-label="Earlier" title="Earlier" onClick={() => props.onChange(moved(props.range, -1))}>
        <Icon name="left" size={16} />
      </button>
      <Popover
        label="Time range"
        title={`Times are of ${zone()}`}
        align="end"
        buttonClass="range-now"
        button={
          <>
            <Icon name="clock" size={16} />
            <span class="num clip">{rangeText(props.range, zone())}</span>
          </>
        }
      >
        {(close) => (
          <Choices
            range={props.range}
            choose={(range) => {
              props.onChange(range);
              close();
            }}
          />
        )}
      </Popover>
      <button type="button" class="button icon" aria-label="Later" title="Later" disabled={ahead()} onClick={() => props.onChange(moved(props.range, 1))}>
        <Icon name="right" size={16} />
      </button>
      <button type="button" class="button icon" aria-label="Zoom out time range" title="Zoom out time range" onClick={wider}>
        <span aria-hidden="true">−</span>
      </button>
    </div>
  );
}

function Choices(props: { range: Range; choose: (range: Range) => void }): JSX.Element {
  const here = (from: string): boolean => isRelative(props.range) && props.range.from === from;
  return (
    <div class="range-choices">
      <div role="group" aria-label="Until now">
        <For each={PRESETS}>
          {(preset) => (
            <button type="button" class="choice" aria-pressed={here(preset.from)} onClick={() => props.choose({ from: preset.from, to: "now" })}>
              Last {preset.name.replace(/^1 /, "")}
            </button>
          )}
        </For>
      </div>
      <Exact range={props.range} choose={props.choose} />
    </div>
  );
}

/** Two moments as people type them. */
function Exact(props: { range: Range; choose: (range: Range) => void }): JSX.Element {
  const at = limits(props.range);
  const [from, setFrom] = createSignal(at ? full(at.from) : "");
  const [to, setTo] = createSignal(props.range.to === "now" ? "now" : at ? full(at.to) : "");
  const [wrong, setWrong] = createSignal<{ end: "from" | "to"; why: string } | undefined>();
  const id = createUniqueId();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const now = Date.now();
    const first = parseWall(from(), zone(), now);
    const last = parseWall(to(), zone(), now);
    if (first === undefined) return void setWrong({ end: "from", why: "Not a time. Try 2026-11-20 14:00, 14:00, today or now-2h." });
    if (last === undefined) return void setWrong({ end: "to", why: "Not a time. Try 2026-11-20 15:00, 15:00 or now." });
    if (first >= last) return void setWrong({ end: "to", why: "The end must be after the start." });
    // What was said relative to now stays so, that a link keeps following.
    const keep = (text: string, at: number): string => (/^now/.test(text.trim()) ? text.trim() : rfc3339(at));
    props.choose({ from: keep(from(), first), to: keep(to(), last) });
  };
  return (
    <form class="range-exact" onSubmit={submit}>
      <For each={[["from", "From", from, setFrom], ["to", "To", to, setTo]] as const}>
        {([end, name, value, set]) => (
          <label class="field">
            <span>{name}</span>
            <input
              class="input num"
              spellcheck={false}
              value={value()}
              aria-invalid={wrong()?.end === end}
              aria-describedby={wrong()?.end === end ? id : undefined}
              onInput={(event) => set(event.currentTarget.value)}
            />
          </label>
        )}
      </For>
      <Show when={wrong()}>
        <p id={id} class="bad-ink row" role="alert">
          <Icon name="bad" size={14} /> {wrong()!.why}
        </p>
      </Show>
      <p class="muted">
        Times are of {zone()} ({offsetName(Date.now(), zone())}).
      </p>
      <button class="button primary">Show</button>
    </form>
  );
}
