// Windows that ask something: opened as modal, closed by Escape, by the ground behind them or by their buttons.

import { createSignal, onMount, Show, type JSX } from "solid-js";
import { Icon } from "./icon";
import "./dialog.css";

export function Dialog(props: { title: string; close: () => void; children: JSX.Element; wide?: boolean }): JSX.Element {
  let dialog: HTMLDialogElement | undefined;
  onMount(() => dialog?.showModal());
  return (
    <dialog
      ref={dialog}
      class="dialog"
      classList={{ wide: props.wide ?? false }}
      aria-label={props.title}
      onClose={props.close}
      onClick={(event) => event.target === dialog && dialog?.close()}
    >
      <header class="row">
        <h2>{props.title}</h2>
        <button class="button quiet icon spread" aria-label="Close" onClick={() => dialog?.close()}>
          <Icon name="close" />
        </button>
      </header>
      {props.children}
    </dialog>
  );
}

export interface ConfirmProps {
  title: string;
  /** What will happen, and whether it can be undone. */
  text: string;
  /** The button that does it, a verb: "Delete the user". */
  action: string;
  run: () => Promise<void>;
  close: () => void;
}

/** Asks before something that cannot be undone. */
export function Confirm(props: ConfirmProps): JSX.Element {
  const [error, setError] = createSignal("");
  const [busy, setBusy] = createSignal(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      await props.run();
      props.close();
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
      setBusy(false);
    }
  };
  return (
    <Dialog title={props.title} close={props.close}>
      <p>{props.text}</p>
      <Show when={error()}>
        <p class="bad-ink" role="alert">
          {error()}
        </p>
      </Show>
      <footer class="row">
        <button class="button spread" onClick={props.close}>
          Cancel
        </button>
        <button class="button danger" disabled={busy()} onClick={() => void run()}>
          {props.action}
        </button>
      </footer>
    </Dialog>
  );
}
