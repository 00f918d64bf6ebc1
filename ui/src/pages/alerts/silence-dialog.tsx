// Keeps alerts back for a time: one, all of a device, all of a rule, or what tests say.

import { createSignal, For, Show, type JSX } from "solid-js";
import { post } from "../../api/client";
import type { Alert, AlertSilence } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { toast } from "../../parts/toast";
import { mayKeepBack, seesAllGraphs } from "../../session";
import { type Choice, isOfDevice, ofDevice, testsOf, TIMES } from "./words";

interface SilenceProps {
  /** The alert that somebody looks at. */
  alert?: Alert | undefined;
  /** The device that somebody looks at. */
  device?: string | undefined;
  close: () => void;
  done?: () => void;
}

const OWN = "own";

/** Who does not see all devices keeps back what is of one device. */
const allowed = (choices: Choice[]): Choice[] => choices.filter(({ tests }) => seesAllGraphs() || tests.some(isOfDevice));

/** Whether they may keep back an alert. */
export const mayKeepBackThis = (alert: Alert): boolean => mayKeepBack() && (seesAllGraphs() || allowed(testsOf(alert)).length > 0);

export function SilenceDialog(props: SilenceProps): JSX.Element {
  const choices = (): Choice[] => (props.alert ? allowed(testsOf(props.alert)) : props.device ? [ofDevice(props.device)] : []);
  const [scope, setScope] = createSignal(choices().length > 0 ? "0" : OWN);
  const [error, setError] = createSignal("");
  const [busy, setBusy] = createSignal(false);
  const save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const said = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string): string => String(said.get(name) ?? "").trim();
    const own = text("tests").split("\n").map((line) => line.trim()).filter(Boolean);
    const when = scope() === OWN ? own : choices()[Number(scope())]!.tests;
    setError("");
    setBusy(true);
    try {
      await post<AlertSilence>("/alerts/silences", { when, for_s: Number(text("for")), why: text("why") || undefined });
      toast(`Silenced: ${when.join(" and ")}`);
      props.done?.();
      props.close();
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
    }
    setBusy(false);
  };
  return (
    <Dialog title="Silence alerts" close={props.close}>
      <form class="stack" onSubmit={(event) => void save(event)}>
        <label class="field">
          <span>Alerts</span>
          <select class="input" value={scope()} onChange={(event) => setScope(event.currentTarget.value)}>
            <For each={choices()}>{(choice, at) => <option value={String(at())}>{choice.name}</option>}</For>
            <option value={OWN}>Alerts that match these tests …</option>
          </select>
        </label>
        <Show
          when={scope() === OWN}
          fallback={
            <p class="muted">
              <For each={choices()[Number(scope())]?.tests ?? []}>
                {(test, at) => (
                  <>
                    {at() > 0 ? " and " : ""}
                    <code>{test}</code>
                  </>
                )}
              </For>
            </p>
          }
        >
          <label class="field">
            <span>
              Tests, one per line; an alert must match all of them: <code>device = edge-*</code>, <code>severity != critical</code>
            </span>
            <textarea class="input mono" name="tests" rows="3" required spellcheck={false} />
            <Show when={!seesAllGraphs()}>
              <span class="muted">
                Some devices are hidden from you: one test must name one device that you see, such as <code>device = core-1</code>.
              </span>
            </Show>
          </label>
        </Show>
        <label class="field">
          <span>For</span>
          <select class="input" name="for">
            <For each={TIMES}>
              {(time) => (
                <option value={time.s} selected={time.s === 7200}>
                  {time.name}
                </option>
              )}
            </For>
          </select>
        </label>
        <label class="field">
          <span>Reason</span>
          <input class="input" name="why" maxlength="500" autocomplete="off" />
        </label>
        <Show when={error()}>
          <p class="bad-ink" role="alert">
            {error()}
          </p>
        </Show>
        <footer class="row">
          <button type="button" class="button spread" onClick={props.close}>
            Cancel
          </button>
          <button class="button primary" disabled={busy()}>
            Silence
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
