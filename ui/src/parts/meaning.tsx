// Colour with meaning, never without a word or a sign.

import type { JSX } from "solid-js";
import { meaningOfScore, score, wordOfScore, type Meaning, scoreRange, type ScoreRange } from "../format";
import { Icon } from "./icon";

const SIGN = { good: "good", warn: "warn", bad: "bad" } as const;

export function Tag(props: { meaning: Meaning | "note"; children: JSX.Element; title?: string }): JSX.Element {
  return (
    <span class={`tag ${props.meaning}`} title={props.title}>
      {props.children}
    </span>
  );
}

/** A score with the sign of what it means. */
export function Mos(props: { value: number | null | undefined; range?: ScoreRange | null }): JSX.Element {
  const meaning = (): Meaning => meaningOfScore(props.range?.low ?? props.value);
  const sign = (): JSX.Element => {
    const now = meaning();
    return now === "none" || now === "good" ? null : <Icon name={SIGN[now]} size={12} />;
  };
  const text = (): string =>
    props.range ? scoreRange(props.range) : score(props.value);
  return (
    <span class={`num nowrap ${meaning()}-ink`} title={wordOfScore(props.range?.low ?? props.value)}>
      {sign()} {text()}
    </span>
  );
}

export function meaningOfState(state: string): Meaning {
  switch (state) {
    case "completed":
    case "answered":
      return "good";
    case "rejected":
      return "bad";
    case "cancelled":
    case "redirected":
    case "auth-challenged":
      return "warn";
    default:
      return "none";
  }
}

/** A state in words. */
export const stateText = (state: string): string => (state === "joined-mid-call" ? "joined in mid-call" : state);

export function StateTag(props: { state: string; code?: number | null }): JSX.Element {
  return (
    <Tag meaning={meaningOfState(props.state)}>
      {stateText(props.state)}
      {props.code && props.state === "rejected" ? ` ${props.code}` : ""}
    </Tag>
  );
}
