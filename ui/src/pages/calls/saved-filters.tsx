// The star of the filter bar: keeps the filter under a name, for oneself or for everybody; and those that were kept.

import { createSignal, For, Show, type JSX } from "solid-js";
import { Problem } from "../../api/problem";
import type { SavedFilter } from "../../api/types";
import { Icon } from "../../parts/icon";
import { Popover } from "../../parts/popover";
import { may, session } from "../../session";
import { forget, loadFields, recent, save, saved } from "./known-fields";

export function SavedFilters(props: { filter: string; use: (filter: string) => void }): JSX.Element {
  const here = (): SavedFilter | undefined => saved().find((one) => one.text === props.filter);
  return (
    <Popover
      label="Saved filters"
      align="end"
      buttonClass={`icon quiet star ${props.filter && here() ? "starred" : ""}`}
      title={here() ? `Saved as ${here()!.name}` : "Saved filters"}
      button={
        <>
          <Icon name="star" size={16} />
          <span class="sr">Saved filters</span>
        </>
      }
    >
      {(close) => <Panel {...props} here={here()} close={close} />}
    </Popover>
  );
}

function Panel(props: { filter: string; use: (filter: string) => void; here: SavedFilter | undefined; close: () => void }): JSX.Element {
  const [error, setError] = createSignal("");
  loadFields();
  const attempt = async (run: () => Promise<void>): Promise<void> => {
    setError("");
    try {
      await run();
    } catch (problem) {
      setError(problem instanceof Problem ? problem.message : "The request failed.");
    }
  };
  const use = (filter: string): void => {
    props.use(filter);
    props.close();
  };
  const removable = (one: SavedFilter): boolean => (one.shared ? may("filters.share") : true);
  return (
    <div class="saved-panel">
      <Show when={props.filter} fallback={<p class="muted">Enter a filter, then save it here.</p>}>
        <Show when={!props.here} fallback={<p>Saved as {props.here!.name}.</p>}>
          <SaveForm filter={props.filter} attempt={attempt} />
        </Show>
      </Show>
      <Show when={error()}>
        <p class="bad-ink row" role="alert">
          <Icon name="bad" size={14} /> {error()}
        </p>
      </Show>
      <Show when={saved().length > 0}>
        <h2>Saved</h2>
        <ul>
          <For each={saved()}>
            {(one) => (
              <li class="saved-line">
                <button type="button" class="choice" aria-current={one.text === props.filter} onClick={() => use(one.text)} title={one.text}>
                  <span class="clip">{one.name}</span>
                  <code class="clip muted">{one.text}</code>
                  <Show when={one.shared}>
                    <span class="tag">{one.by === session()?.user?.name ? "shared" : `of ${one.by}`}</span>
                  </Show>
                </button>
                <Show when={removable(one)}>
                  <button type="button" class="button icon quiet" aria-label={`Delete ${one.name}`} title="Delete" onClick={() => void attempt(() => forget(one.name, one.shared))}>
                    <Icon name="trash" size={14} />
                  </button>
                </Show>
              </li>
            )}
          </For>
        </ul>
      </Show>
      <Show when={recent().length > 0}>
        <h2>Recent filters in this browser</h2>
        <ul>
          <For each={recent()}>
            {(text) => (
              <li>
                <button type="button" class="choice" aria-current={text === props.filter} onClick={() => use(text)}>
                  <code class="clip">{text}</code>
                </button>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </div>
  );
}

function SaveForm(props: { filter: string; attempt: (run: () => Promise<void>) => Promise<void> }): JSX.Element {
  const [name, setName] = createSignal("");
  const [shared, setShared] = createSignal(false);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (name().trim()) void props.attempt(() => save(name().trim(), props.filter, shared()));
  };
  return (
    <form class="stack" onSubmit={submit}>
      <label class="field">
        <span>
          Save <code>{props.filter}</code> as
        </span>
        <input class="input" maxlength="60" required value={name()} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <div class="row">
        <Show when={may("filters.share")}>
          <label class="row">
            <input type="checkbox" checked={shared()} onChange={(event) => setShared(event.currentTarget.checked)} /> Share with everyone
          </label>
        </Show>
        <button class="button primary spread">Save</button>
      </div>
    </form>
  );
}
