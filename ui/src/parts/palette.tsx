// The palette: one field for where to go and what to change, by the keyboard alone.

import { useNavigate } from "@solidjs/router";
import { createMemo, createSignal, For, onMount, Show, type JSX } from "solid-js";
import { PAGES } from "../pages";
import { setTheme, setZone } from "../prefs";
import { may } from "../session";
import { Icon } from "./icon";
import { choicesFor, type Choice, type Known } from "./palette-choices";
import "./palette.css";

const known = (): Known => ({
  pages: PAGES.filter((page) => page.icon && (!page.needs || may(page.needs))).map((page) => ({
    name: page.name,
    path: page.path.replace(/\/:.*$/, ""),
    icon: page.icon!,
    ...(page.key ? { key: page.key } : {}),
  })),
  zones: () => Intl.supportedValuesOf("timeZone"),
  mayPart: may("numbers.read"),
});

const optionId = (at: number): string => `palette-${at}`;

export default function Palette(props: { close: () => void }): JSX.Element {
  const navigate = useNavigate();
  const [typed, setTyped] = createSignal("");
  const [at, setAt] = createSignal(0);
  const choices = createMemo(() => choicesFor(typed(), known()));
  let dialog: HTMLDialogElement | undefined;
  onMount(() => dialog?.showModal());
  const run = (choice: Choice | undefined): void => {
    if (!choice) return;
    dialog?.close();
    if ("go" in choice.does) navigate(choice.does.go);
    else if ("theme" in choice.does) setTheme(choice.does.theme);
    else setZone(choice.does.zone);
  };
  const key = (event: KeyboardEvent): void => {
    const last = choices().length - 1;
    if (event.key === "ArrowDown") setAt((now) => (now >= last ? 0 : now + 1));
    else if (event.key === "ArrowUp") setAt((now) => (now <= 0 ? last : now - 1));
    else if (event.key === "Enter") run(choices()[at()]);
    else return;
    event.preventDefault();
    document.getElementById(optionId(at()))?.scrollIntoView({ block: "nearest" });
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Command palette" onClose={props.close} onClick={(event) => event.target === dialog && dialog?.close()}>
      <input
        class="input"
        role="combobox"
        aria-label="Page, number, Call-ID, theme or time zone"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={choices().length > 0 ? optionId(at()) : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder="Page, number, Call-ID, theme, time zone"
        onKeyDown={key}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Suggestions">
        <For each={choices()}>
          {(choice, i) => (
            <li id={optionId(i())} role="option" aria-selected={i() === at()} onPointerMove={() => setAt(i())} onClick={() => run(choice)}>
              <Icon name={choice.icon} />
              <span class="nowrap">{choice.name}</span>
              <span class="muted clip">{choice.about}</span>
            </li>
          )}
        </For>
      </ul>
      <Show when={choices().length === 0}>
        <p class="muted" role="status">
          No matches. Type at least three digits to find a number, or a Call-ID or the start of a call's identifier to open a call.
        </p>
      </Show>
    </dialog>
  );
}
