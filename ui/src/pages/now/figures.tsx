import { A } from "@solidjs/router";
import { For, type JSX } from "solid-js";
import { bits, meaningOfScore, percent, score, short, whole, wordOfScore, type Meaning } from "../../format";
import { moments, REMEMBERED_MAX, status, type Moment } from "../../live";
import { Icon } from "../../parts/icon";
import { Sparkline } from "../../parts/sparkline";

interface Figure {
  name: string;
  value: () => string;
  unit: string;
  /** In words, below. */
  more: () => string;
  line?: (moment: Moment) => number;
  meaning?: () => Meaning;
  href: string;
}

const sum = (of: Record<string, number> | undefined): number => Object.values(of ?? {}).reduce((a, b) => a + b, 0);
const packets = (): number => sum(status()?.rates.packets_per_s as unknown as Record<string, number> | undefined);
const lost = (): number => sum(status()?.rates.drops_per_s);
const lostTotal = (): number => sum(status()?.drops_total);
const worst = (): number | null =>
  (status()?.last_minute.worst ?? []).reduce<number | null>((low, call) => (call.mos === null ? low : Math.min(low ?? 5, call.mos)), null);

const FIGURES: Figure[] = [
  {
    name: "Active calls",
    value: () => whole(status()?.calls_up),
    unit: "",
    more: () => `${whole(status()?.calls_finished_total)} ended`,
    line: (moment) => moment.calls_up,
    href: "/calls",
  },
  {
    name: "New calls per second",
    value: () => short(status()?.rates.calls_per_s),
    unit: "",
    more: () => `${whole(status()?.last_minute.calls)} ended last minute`,
    line: (moment) => moment.calls_per_s,
    href: "/calls",
  },
  {
    name: "Answered",
    value: () => percent(status()?.rates.answer_ratio, 0),
    unit: "",
    more: () => `${whole(status()?.last_minute.answered)} in last minute`,
    href: "/calls?filter=has:answer",
  },
  {
    name: "Worst MOS",
    value: () => score(worst()),
    unit: "",
    more: () => (worst() === null ? "no score in the last minute" : wordOfScore(worst())),
    meaning: () => meaningOfScore(worst()),
    href: "/calls?filter=mos<3.6",
  },
  {
    name: "Packets",
    value: () => short(packets()),
    unit: "per s",
    more: () => bits(status()?.rates.bits_per_s),
    line: (moment) => moment.packets_per_s,
    href: "/system",
  },
  {
    name: "Capture loss",
    value: () => short(lost()),
    unit: "per s",
    more: () => (lostTotal() === 0 ? "none since start" : `${whole(lostTotal())} since start`),
    line: (moment) => moment.drops_per_s,
    meaning: () => (lost() > 0 ? "bad" : "good"),
    href: "/packets",
  },
];

/** Seconds that a line is wide when the page is young. */
const YOUNG = 60;

/** The figures that one looks at first, each with its last minutes. */
export function Figures(): JSX.Element {
  return (
    <ul class="now-figures">
      <For each={FIGURES}>
        {(figure) => (
          <li class="panel">
            <A href={figure.href} class="now-figure">
              <span class="now-figure-name">
                <Sign meaning={figure.meaning?.() ?? "none"} />
                {figure.name}
              </span>
              <span class="now-figure-value num">
                {figure.value()} <small>{figure.unit}</small>
              </span>
              <span class="now-figure-more clip">{figure.more()}</span>
              <Line figure={figure} />
            </A>
          </li>
        )}
      </For>
    </ul>
  );
}

function Sign(props: { meaning: Meaning }): JSX.Element {
  return (
    <span class={`${props.meaning}-ink`} hidden={props.meaning === "none" || props.meaning === "good"}>
      <Icon name={props.meaning === "bad" ? "bad" : "warn"} size={14} />
    </span>
  );
}

function Line(props: { figure: Figure }): JSX.Element {
  const values = (): number[] => (props.figure.line ? moments().map(props.figure.line) : []);
  const meaning = (): "accent" | "bad" => (props.figure.meaning?.() === "bad" ? "bad" : "accent");
  return (
    <span class="now-figure-line">
      {props.figure.line ? <Sparkline values={values()} room={Math.min(REMEMBERED_MAX, Math.max(YOUNG, values().length))} meaning={meaning()} height={28} /> : null}
    </span>
  );
}
