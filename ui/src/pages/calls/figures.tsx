// What the selection adds up to: a line of figures, each of which says what it is.

import { createUniqueId, For, Show, type JSX } from "solid-js";
import type { CallsSummary, CallsTotals } from "../../api/types";
import { duration, meaningOfScore, NONE, percent, score, whole, wordOfScore, type Meaning } from "../../format";
import { Icon } from "../../parts/icon";
import { Time } from "../../parts/time";
import "./figures.css";

interface Figure {
  name: string;
  value: (totals: CallsTotals) => string;
  meaning?: (totals: CallsTotals) => Meaning;
  word?: (totals: CallsTotals) => string;
  about: string;
}

const badShare = (totals: CallsTotals): number | null => (totals.calls > 0 ? totals.bad / totals.calls : null);

const FIGURES: Figure[] = [
  { name: "Calls", value: (totals) => whole(totals.calls), about: "Calls that match the filter and whose first INVITE is in the time range." },
  { name: "ASR", value: (totals) => percent(totals.asr), about: "Answer-seizure ratio: share of calls answered with a 2xx." },
  { name: "NER", value: (totals) => percent(totals.ner), about: "Network effectiveness ratio (ITU-T E.425): share of calls that the network delivered, whether the user answered or not (busy, no answer, declined, cancelled). The rest failed in the network." },
  { name: "ACD", value: (totals) => (totals.acd_s === null ? NONE : duration(totals.acd_s * 1000)), about: "Average call duration: answer to end, answered calls only." },
  { name: "PDD", value: (totals) => duration(totals.pdd_ms), about: "Post-dial delay: first INVITE to first ringing, average." },
  { name: "MOS", value: (totals) => score(totals.mos), meaning: (totals) => meaningOfScore(totals.mos), word: (totals) => wordOfScore(totals.mos), about: "Average MOS of the calls (ITU-T G.107), worst stream of each call. At 4 or more users are satisfied." },
  { name: "With a verdict", value: (totals) => percent(badShare(totals)), about: "Share of calls with a problem: one-way audio, loss, failures, retransmissions and others. The filter verdict:* shows them." },
];

export function Figures(props: { summary: CallsSummary | undefined; error: unknown; retry: () => void }): JSX.Element {
  return (
    <div class="figures">
      <div class="figures-line">
        <For each={FIGURES}>{(figure) => <One figure={figure} totals={props.summary?.totals} />}</For>
      </div>
      <Show when={props.error}>
        <p class="figures-note" role="status">
          <span class="bad-ink row">
            <Icon name="bad" size={14} /> The statistics could not be computed.
          </span>
          <button class="button" onClick={() => props.retry()}>
            Try again
          </button>
        </p>
      </Show>
      <Show when={props.summary && !props.summary.exact}>
        <p class="figures-note warn-ink row" role="status">
          <Icon name="warn" size={14} />
          <Show when={props.summary?.seen_from} fallback="Counting took too long. Choose a shorter time range.">
            <span>
              Counted since <Time at={props.summary!.seen_from} /> on only: going through all of the range takes too long.
            </span>
          </Show>
        </p>
      </Show>
    </div>
  );
}

function One(props: { figure: Figure; totals: CallsTotals | undefined }): JSX.Element {
  const id = createUniqueId();
  const meaning = (): Meaning => (props.totals && props.figure.meaning?.(props.totals)) || "none";
  return (
    <div class="figure" tabindex="0" role="group" aria-label={props.figure.name} aria-describedby={id}>
      <div class="figure-name">{props.figure.name}</div>
      <div class="figure-value num" classList={{ "warn-ink": meaning() === "warn", "bad-ink": meaning() === "bad" }} title={props.totals ? props.figure.word?.(props.totals) : undefined}>
        <Show when={meaning() === "warn" || meaning() === "bad"}>
          <Icon name={meaning() === "bad" ? "bad" : "warn"} size={14} />{" "}
        </Show>
        {props.totals ? props.figure.value(props.totals) : NONE}
      </div>
      <span id={id} class="figure-about" role="tooltip">
        {props.figure.about}
      </span>
    </div>
  );
}
