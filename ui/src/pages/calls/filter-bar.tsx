// The line in which one asks: coloured as it is read, completed as it is typed, and the place of a mistake marked.

import { useNavigate } from "@solidjs/router";
import { createEffect, createMemo, createSignal, createUniqueId, For, on, Show, type JSX } from "solid-js";
import { Problem } from "../../api/problem";
import { sentence } from "../../format";
import { Icon } from "../../parts/icon";
import { useKeys } from "../../parts/keys";
import { may } from "../../session";
import { complete, fieldNamed, taken, type Completion, type Offer, type Seen } from "./complete";
import { fields, loadFields, recent, remember, saved } from "./known-fields";
import { pieces, type Piece } from "./language";
import { callNamed, understand, type Understood } from "./understand";
import "./filter-bar.css";

export interface FilterBarProps {
  /** What the list shows. */
  filter: string;
  onFilter: (filter: string) => void;
  /** What the program said of it. */
  error: unknown;
  seen: Seen;
  codecs: readonly string[];
  /** Whether the rows are here: only then is asked for what helps to write a filter. */
  ready: boolean;
  /** Stands in the bar, behind the text. */
  children?: JSX.Element;
}

export function FilterBar(props: FilterBarProps): JSX.Element {
  const [text, setText] = createSignal(props.filter);
  const [caret, setCaret] = createSignal(0);
  const [open, setOpen] = createSignal(false);
  const [chosen, setChosen] = createSignal(-1);
  const [scrolled, setScrolled] = createSignal(0);
  const [hint, setHint] = createSignal<Understood["hints"]>([]);
  const navigate = useNavigate();
  const id = createUniqueId();
  let input: HTMLInputElement | undefined;
  createEffect(on(() => props.filter, (next) => setText(next)));
  createEffect(() => props.ready && loadFields());
  useKeys([{ keys: "/", what: "Filter the calls", run: () => (input?.focus(), input?.select()) }]);

  const mistake = createMemo(() => mistakeOf(props.error, props.filter));
  const wrong = (): Mistake | undefined => (text() === props.filter ? mistake() : undefined);
  const completion = createMemo((): Completion => {
    if (!open()) return { from: 0, to: 0, offers: [] };
    if (text().trim() === "") return { from: 0, to: text().length, offers: [...remembered(), ...complete("", 0, fields(), props.seen).offers] };
    return complete(text(), caret(), fields(), props.seen);
  });
  createEffect(on(completion, () => setChosen(-1)));
  createEffect(on(chosen, (at) => at >= 0 && document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" })));

  const knows = () => ({
    named: fields().flatMap((field) => (field.values && field.name === "state" ? [{ field: field.name, values: field.values }] : [])),
    codecs: props.codecs,
    wholeNumbersOnly: !may("numbers.read"),
  });
  const submit = (): void => {
    const call = callNamed(text());
    if (call) return navigate(`/calls/${call}`);
    const understood = understand(text().trim(), knows());
    setHint(understood.hints);
    setOpen(false);
    setText(understood.filter);
    remember(understood.filter);
    props.onFilter(understood.filter);
  };
  const take = (offer: Offer): void => {
    if (offer.kind === "recent" || offer.kind === "saved") {
      setText(offer.text);
      return submit();
    }
    const next = taken(text(), completion(), offer);
    setText(next.text);
    setCaret(next.caret);
    input?.setSelectionRange(next.caret, next.caret);
    input?.focus();
    setOpen(true);
  };
  const typed = (): void => {
    setText(input?.value ?? "");
    setHint([]);
    placed();
    setOpen(true);
  };
  const placed = (): void => {
    setCaret(input?.selectionStart ?? 0);
    setScrolled(input?.scrollLeft ?? 0);
  };
  const key = (event: KeyboardEvent): void => {
    const offers = completion().offers;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      if (!open()) return void setOpen(true);
      // One place more than there are offers: none chosen, as before the first key.
      const places = offers.length + 1;
      setChosen(((chosen() + 1 + step + places) % places) - 1);
    } else if (event.key === "Enter" || (event.key === "Tab" && !event.shiftKey && chosen() >= 0)) {
      event.preventDefault();
      const offer = offers[chosen()];
      if (offer) take(offer);
      else submit();
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (open() && offers.length > 0) setOpen(false);
      else if (text() !== props.filter) setText(props.filter);
      else input?.blur();
    }
  };
  const clear = (): void => {
    setText("");
    setHint([]);
    props.onFilter("");
    input?.focus();
  };
  const listed = (): boolean => open() && completion().offers.length > 0;

  return (
    <div class="filter">
      <form class="filter-box" classList={{ wrong: wrong() !== undefined }} role="search" onSubmit={(event) => (event.preventDefault(), submit())}>
        <Icon name="filter" size={16} />
        <div class="filter-line">
          <div class="filter-shown" aria-hidden="true">
            <div style={{ transform: `translateX(${-scrolled()}px)` }}>
              <Coloured text={text()} wrong={wrong()} />
            </div>
          </div>
          <input
            ref={input}
            class="filter-input"
            value={text()}
            placeholder={PLACEHOLDER}
            spellcheck={false}
            autocomplete="off"
            autocapitalize="none"
            enterkeyhint="search"
            maxlength="4096"
            role="combobox"
            aria-label="Filter"
            aria-expanded={listed()}
            aria-controls={listed() ? `${id}-list` : undefined}
            aria-autocomplete="list"
            aria-activedescendant={chosen() >= 0 ? `${id}-${chosen()}` : undefined}
            aria-invalid={wrong() !== undefined}
            aria-describedby={wrong() ? `${id}-wrong` : undefined}
            onInput={typed}
            onKeyDown={key}
            onKeyUp={placed}
            onClick={() => (placed(), setOpen(true))}
            onScroll={placed}
            onFocus={() => (loadFields(), placed())}
            onBlur={() => setOpen(false)}
          />
        </div>
        <Show when={text()}>
          <button type="button" class="button icon quiet" aria-label="Clear filter" title="Clear filter" onClick={clear}>
            <Icon name="close" size={14} />
          </button>
        </Show>
        {props.children}
      </form>
      <Show when={listed()}>
        <ul id={`${id}-list`} class="filter-offers" role="listbox" aria-label="Suggestions" style={{ "--at": `${offersAt(completion(), scrolled())}ch` }}>
          <For each={completion().offers}>
            {(offer, i) => (
              // The pointer must not take the focus from the field before the click arrives.
              <li id={`${id}-${i()}`} role="option" aria-selected={chosen() === i()} onPointerDown={(event) => event.preventDefault()} onClick={() => take(offer)}>
                <span class={`offer-text offer-${offer.kind}`}>{offer.label ?? offer.text}</span>
                <span class="offer-help clip">{offer.help}</span>
              </li>
            )}
          </For>
        </ul>
      </Show>
      <Show when={wrong()}>
        {(found) => (
          <p id={`${id}-wrong`} class="filter-said bad-ink" role="alert">
            <Icon name="bad" size={14} />
            <span>
              {sentence(found().message)}.
            </span>
            <Show when={found().fix} fallback={<span>{found().expected}</span>}>
              {(fix) => (
                <button
                  type="button"
                  class="button"
                  onClick={() => {
                    setText(fix().filter);
                    submit();
                  }}
                >
                  Did you mean {fix().name}?
                </button>
              )}
            </Show>
          </p>
        )}
      </Show>
      <Show when={!wrong() && hint().length > 0}>
        <p class="filter-said muted" role="status">
          <Icon name="note" size={14} />
          <For each={hint()}>
            {(one) => (
              <span>
                {one.word} was understood as <code>{one.test}</code> ({one.why}).
              </span>
            )}
          </For>
        </p>
      </Show>
    </div>
  );
}

const PLACEHOLDER = "Number, Call-ID, address, or mos<3.5 and state:completed";

function remembered(): Offer[] {
  const own = saved().map((one): Offer => ({ text: one.text, label: one.name, help: one.text, kind: "saved" }));
  const known = new Set(own.map((one) => one.text));
  return [...own, ...recent().filter((text) => !known.has(text)).slice(0, 5).map((text): Offer => ({ text, help: "recent", kind: "recent" }))];
}

/** Under the piece that is completed, but never so far right that the list leaves the window. */
const offersAt = (completion: Completion, scrolled: number): number => Math.max(0, completion.from - Math.round(scrolled / 8));

interface Mistake {
  /** Characters from 1. */
  column: number;
  width: number;
  message: string;
  expected: string;
  fix: { name: string; filter: string } | undefined;
}

function mistakeOf(error: unknown, filter: string): Mistake | undefined {
  if (!(error instanceof Problem) || error.kind !== "bad-filter") return undefined;
  const { column, width, message, expected } = error.details;
  const said = { column: Number(column ?? 1), width: Number(width ?? 1), message: typeof message === "string" ? message : error.message, expected: typeof expected === "string" ? expected : "" };
  const name = /did you mean '([^']+)'/.exec(said.expected || said.message)?.[1];
  if (!name) return { ...said, fix: undefined };
  // The program counts characters, JavaScript counts halves of the rarer ones.
  const all = [...filter];
  const fixed = all.slice(0, said.column - 1).join("") + name + all.slice(said.column - 1 + said.width).join("");
  return { ...said, fix: { name, filter: fixed } };
}

function Coloured(props: { text: string; wrong: Mistake | undefined }): JSX.Element {
  const unknown = (piece: Piece): boolean => piece.kind === "field" && fields().length > 0 && !fieldNamed(fields(), piece.text);
  const spans = createMemo(() => {
    const found: { text: string; kind: string }[] = [];
    let at = 0;
    for (const piece of pieces(props.text)) {
      if (piece.from > at) found.push({ text: props.text.slice(at, piece.from), kind: "" });
      found.push({ text: piece.text, kind: `f-${piece.kind}${unknown(piece) ? " f-unknown" : ""}` });
      at = piece.to;
    }
    found.push({ text: props.text.slice(at), kind: "" });
    return found;
  });
  const before = (): string => [...props.text].slice(0, (props.wrong?.column ?? 1) - 1).join("");
  return (
    <>
      <For each={spans()}>{(span) => <span class={span.kind}>{span.text}</span>}</For>
      <Show when={props.wrong}>
        {(wrong) => <span class="squiggle" style={{ left: `${[...before()].length}ch`, width: `${wrong().width}ch` }} />}
      </Show>
    </>
  );
}
