// Text of messages: coloured by what its parts are, or two of them line by line. Text nodes only: whatever the wire
// carried, it stays text.

import { createMemo, createSignal, For, Show, type JSX } from "solid-js";
import { diff, inside, type Pair } from "./diff";
import { explain } from "./sdp-words";
import { linesOf, type Line } from "./sip-text";

export function Raw(props: { text: string }): JSX.Element {
  const lines = createMemo(() => linesOf(props.text));
  const sdp = createMemo(() => lines().flatMap((line) => (line.part === "sdp" ? [line.text] : [])));
  const [words, setWords] = createSignal<string | undefined>();
  return (
    <>
      <div class="raw">
        <For each={lines()}>{(line) => <RawLine line={line} words={line.part === "sdp" ? explain(line.text, sdp()) : undefined} say={setWords} />}</For>
      </div>
      <Show when={sdp().length > 0}>
        <p class="raw-words muted" role="status">
          {words() ?? "Point at a line of SDP, or touch it, to see what it means."}
        </p>
      </Show>
    </>
  );
}

function RawLine(props: { line: Line; words: string | undefined; say: (words: string | undefined) => void }): JSX.Element {
  const say = (): void => void (props.words && props.say(props.words));
  return (
    <div class={`raw-line ${props.line.part}`} classList={{ explained: props.words !== undefined }} onPointerEnter={say} onClick={say}>
      <For each={props.line.tokens}>{(token) => <span class={`t-${token.kind}`}>{token.text}</span>}</For>
    </div>
  );
}

interface ComparedProps {
  left: string;
  right: string;
  leftName: string;
  rightName: string;
}

const split = (text: string): string[] => text.replace(/(\r\n|\n|\r)$/, "").split(/\r\n|\n|\r/);

export function Compared(props: ComparedProps): JSX.Element {
  const pairs = createMemo(() => diff(split(props.left), split(props.right)));
  const changes = (): number => pairs().filter((pair) => pair.left !== pair.right).length;
  return (
    <div class="raw compared">
      <p class="muted">
        {changes() === 0 ? "The messages are identical." : `${changes()} line${changes() === 1 ? " differs" : "s differ"}: − ${props.leftName}, + ${props.rightName}.`}
      </p>
      <For each={pairs()}>{(pair) => <PairLines pair={pair} />}</For>
    </div>
  );
}

function PairLines(props: { pair: Pair }): JSX.Element {
  const { left, right } = props.pair;
  if (left !== undefined && left === right) return <div class="raw-line same">{left}</div>;
  const parts = left !== undefined && right !== undefined ? inside(left, right) : undefined;
  return (
    <>
      <Show when={left !== undefined}>
        <Changed sign="−" kind="gone" text={left!} part={parts?.left} />
      </Show>
      <Show when={right !== undefined}>
        <Changed sign="+" kind="come" text={right!} part={parts?.right} />
      </Show>
    </>
  );
}

function Changed(props: { sign: string; kind: string; text: string; part: [number, number] | undefined }): JSX.Element {
  const [from, to] = props.part ?? [0, 0];
  return (
    <div class={`raw-line ${props.kind}`}>
      <span class="sign">{props.sign}</span>
      {props.text.slice(0, from)}
      <mark>{props.text.slice(from, to)}</mark>
      {props.text.slice(to)}
    </div>
  );
}
