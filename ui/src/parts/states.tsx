// What a place shows when it has nothing, not yet, or an error: always why, and what to do.

import { Show, type JSX } from "solid-js";
import { Problem } from "../api/problem";
import { Icon, type IconName } from "./icon";
import "./states.css";

export function Empty(props: { icon?: IconName; title: string; children?: JSX.Element }): JSX.Element {
  return (
    <div class="state">
      <Icon name={props.icon ?? "note"} size={28} />
      <h2>{props.title}</h2>
      <div class="muted">{props.children}</div>
    </div>
  );
}

export function Loading(props: { what: string }): JSX.Element {
  return (
    <div class="state" role="status">
      <span class="spinner" aria-hidden="true" />
      <span class="muted">Loading {props.what} …</span>
    </div>
  );
}

/** An error with what can be done about it. */
export function Trouble(props: { error: unknown; retry?: () => void }): JSX.Element {
  const problem = (): Problem | undefined => (props.error instanceof Problem ? props.error : undefined);
  const text = (): string => (props.error instanceof Error ? props.error.message : String(props.error));
  return (
    <div class="state" role="alert">
      <span class="bad-ink">
        <Icon name="bad" size={28} />
      </span>
      <h2>{problem()?.details.title ?? "Error"}</h2>
      <p class="muted">{text()}</p>
      <Show when={props.retry}>
        <button class="button" onClick={() => props.retry?.()}>
          Try again
        </button>
      </Show>
    </div>
  );
}
