// A form that sends something and says how it went, beside its button.

import { createSignal, Show, type JSX } from "solid-js";
import { Icon } from "../../parts/icon";

export interface FormProps {
  /** The button, a verb. */
  action: string;
  /** Sends it, and empties its own fields when that went well; what it throws is shown. */
  send: () => Promise<void>;
  /** Said when it went well. */
  done?: string;
  children: JSX.Element;
}

export function Form(props: FormProps): JSX.Element {
  const [error, setError] = createSignal("");
  const [done, setDone] = createSignal(false);
  const [busy, setBusy] = createSignal(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError("");
    setDone(false);
    try {
      await props.send();
      setDone(true);
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
    }
    setBusy(false);
  };
  return (
    <form class="stack" onSubmit={(event) => void submit(event)}>
      {props.children}
      <div class="row">
        <button class="button primary" disabled={busy()}>
          {props.action}
        </button>
        <span role="status" class="row">
          <Show when={error()}>
            <span class="bad-ink row">
              <Icon name="bad" /> {error()}
            </span>
          </Show>
          <Show when={done() && props.done}>
            <span class="good-ink row">
              <Icon name="good" /> {props.done}
            </span>
          </Show>
        </span>
      </div>
    </form>
  );
}
