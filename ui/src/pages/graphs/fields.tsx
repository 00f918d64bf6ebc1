// Fields of the forms of graphs.

import { For, type JSX } from "solid-js";

export function Field(props: { name: string; label: string; value?: string; needed?: boolean; secret?: boolean; hint?: string }): JSX.Element {
  return (
    <label class="field">
      <span>{props.label}</span>
      <input class="input" name={props.name} value={props.value ?? ""} required={props.needed ?? false} placeholder={props.hint ?? ""} type={props.secret ? "password" : "text"} autocomplete={props.secret ? "new-password" : "off"} spellcheck={false} />
    </label>
  );
}

export function Choice(props: { name: string; label: string; all: string[] }): JSX.Element {
  return (
    <label class="field">
      <span>{props.label}</span>
      <select class="input" name={props.name}>
        <For each={props.all}>{(one) => <option value={one}>{one}</option>}</For>
      </select>
    </label>
  );
}
