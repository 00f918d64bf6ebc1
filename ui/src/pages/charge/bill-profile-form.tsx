// How numbers and the bill are written: a form that is filled from the file, and the profile's text for who knows it.

import { createSignal, For, Show, type JSX } from "solid-js";
import { toml, type BillHead, type Profile } from "./bill-profile";

export interface BillProfileProps {
  profile: Profile;
  change: (to: Partial<Profile>) => void;
  text: string | undefined;
  setText: (text: string | undefined) => void;
  head: BillHead | undefined;
  isBill: boolean;
}

const COLUMNS = [
  ["caller", "Caller", true],
  ["called", "Called number", true],
  ["begin", "Start time", true],
  ["duration", "Duration", true],
  ["amount", "Amount", false],
  ["reference", "Call-ID", false],
] as const;

const ROUNDINGS = ["1+1", "60+60", "60+1", "30+6", "30+30", "6+6", "10+10"];

export function BillProfile(props: BillProfileProps): JSX.Element {
  return (
    <Show when={props.text === undefined} fallback={<Text {...props} />}>
      <Show when={props.isBill && props.head}>{(head) => <Columns {...props} columns={head()} />}</Show>
      <Show when={props.isBill}>
        <Forms {...props} />
      </Show>
      <Numbers {...props} />
    </Show>
  );
}

/** The profile's text. */
function Text(props: BillProfileProps): JSX.Element {
  return (
    <div class="stack">
      <label class="field">
        <span>Format of numbers and of the bill, as a profile (docs/manual/wire-against-bill.md)</span>
        <textarea class="input charge-text" spellcheck={false} value={props.text} onInput={(event) => props.setText(event.currentTarget.value)} />
      </label>
      <p>
        <button type="button" class="button" onClick={() => props.setText(undefined)}>
          Back to the form
        </button>
      </p>
    </div>
  );
}

/** Which column is what: the titles of the file, with what its first line has there. */
function Columns(props: BillProfileProps & { columns: BillHead }): JSX.Element {
  const first = (title: string): string => props.columns.first[props.columns.titles.indexOf(title)] ?? "";
  return (
    <fieldset class="charge-form">
      <legend>Columns of the bill</legend>
      <For each={COLUMNS}>
        {([column, name, needed]) => (
          <label class="field">
            <span>{name}</span>
            <select class="input" aria-invalid={needed && props.profile[column] === ""} value={props.profile[column]} onChange={(event) => props.change({ [column]: event.currentTarget.value })}>
              <option value="">{needed ? "choose …" : "none"}</option>
              <For each={props.columns.titles}>
                {(title) => (
                  <option value={title} selected={title === props.profile[column]}>
                    {title}
                  </option>
                )}
              </For>
            </select>
            <span class="muted charge-small clip">{props.profile[column] ? `as ${first(props.profile[column]) || "nothing"}` : "\u00a0"}</span>
          </label>
        )}
      </For>
    </fieldset>
  );
}

function Forms(props: BillProfileProps): JSX.Element {
  const choice = <K extends "dateOrder" | "durationUnit" | "amountUnit" | "decimal">(key: K, name: string, choices: [Profile[K], string][]): JSX.Element => (
    <label class="field">
      <span>{name}</span>
      <select class="input" value={props.profile[key]} onChange={(event) => props.change({ [key]: event.currentTarget.value } as Partial<Profile>)}>
        <For each={choices}>
          {([value, text]) => (
            <option value={value} selected={value === props.profile[key]}>
              {text}
            </option>
          )}
        </For>
      </select>
    </label>
  );
  const zones = Intl.supportedValuesOf("timeZone");
  return (
    <fieldset class="charge-form">
      <legend>Format of the bill</legend>
      <label class="field">
        <span>Time zone</span>
        <select class="input" value={props.profile.zone} onChange={(event) => props.change({ zone: event.currentTarget.value })}>
          <For each={["UTC", ...zones.filter((name) => name !== "UTC")]}>
            {(name) => (
              <option value={name} selected={name === props.profile.zone}>
                {name}
              </option>
            )}
          </For>
        </select>
      </label>
      {choice("dateOrder", "Dates such as 03/04/2026 mean", [
        ["day-first", "3 April"],
        ["month-first", "March 4"],
      ])}
      {choice("durationUnit", "Durations are in", [
        ["seconds", "seconds"],
        ["minutes", "minutes"],
        ["milliseconds", "milliseconds"],
      ])}
      {choice("amountUnit", "Amounts are in", [
        ["major", "euros, pounds, dollars"],
        ["minor", "cents, pence"],
      ])}
      {choice("decimal", "Decimal separator", [
        ["", "point or comma"],
        [".", "point"],
        [",", "comma"],
      ])}
      <label class="field">
        <span>Billing increments (first + each next, seconds)</span>
        <select class="input" value={props.profile.rounding} onChange={(event) => props.change({ rounding: event.currentTarget.value })}>
          <For each={ROUNDINGS}>
            {(rounding) => (
              <option value={rounding} selected={rounding === props.profile.rounding}>
                {rounding}
              </option>
            )}
          </For>
        </select>
      </label>
    </fieldset>
  );
}

/** How numbers are written, on the wire and in the bill. */
function Numbers(props: BillProfileProps): JSX.Element {
  const [open] = createSignal(props.isBill || props.profile.country !== "");
  const field = (key: "country" | "national" | "international", name: string, placeholder: string): JSX.Element => (
    <label class="field">
      <span>{name}</span>
      <input class="input" placeholder={placeholder} value={props.profile[key]} onChange={(event) => props.change({ [key]: event.currentTarget.value.trim() })} />
    </label>
  );
  return (
    <details open={open()}>
      <summary>Number format</summary>
      <div class="charge-form">
        {field("country", "Country code", "33; without it only + is understood")}
        {field("national", "National prefix", "0")}
        {field("international", "International prefixes, besides +", "00")}
        <label class="field">
          <span>A number without a prefix is</span>
          <select class="input" value={props.profile.bare} onChange={(event) => props.change({ bare: event.currentTarget.value as Profile["bare"] })}>
            <option value="unknown">unknown</option>
            <option value="international" selected={props.profile.bare === "international"}>
              international
            </option>
            <option value="national" selected={props.profile.bare === "national"}>
              national
            </option>
          </select>
        </label>
      </div>
      <p>
        <button type="button" class="button quiet" onClick={() => props.setText(toml(props.profile, props.isBill))}>
          Write the profile as text
        </button>
      </p>
    </details>
  );
}
