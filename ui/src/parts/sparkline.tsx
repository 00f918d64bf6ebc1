// A line of the last minutes: shape, not figures; the figure stands beside it.

import type { JSX } from "solid-js";

export interface SparklineProps {
  values: readonly number[];
  /** How many values fill the width: a young line begins at the right. */
  room: number;
  /** The value at the top; the highest of the line if absent. */
  top?: number | undefined;
  width?: number;
  height?: number;
  meaning?: "accent" | "good" | "warn" | "bad";
  /** For those who cannot see it; decoration if absent. */
  label?: string;
}

const COLOURS = { accent: "var(--accent)", good: "var(--good)", warn: "var(--warn)", bad: "var(--bad)" };

/** The path of the line in a box, `top` or the highest value at the top. Exported for its test. */
export function path(values: readonly number[], room: number, width: number, height: number, top?: number): string {
  if (values.length < 2) return "";
  const most = top ?? Math.max(...values, 1e-9);
  const step = width / (room - 1);
  const left = width - (values.length - 1) * step;
  const at = (value: number, i: number): string =>
    `${(left + i * step).toFixed(1)},${(height - 1 - (Math.min(Math.max(value, 0) / most, 1)) * (height - 2)).toFixed(1)}`;
  return `M${values.map(at).join("L")}`;
}

export function Sparkline(props: SparklineProps): JSX.Element {
  const width = (): number => props.width ?? 160;
  const height = (): number => props.height ?? 32;
  const line = (): string => path(props.values.slice(-props.room), props.room, width(), height(), props.top);
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${width()} ${height()}`}
      preserveAspectRatio="none"
      width="100%"
      height={height()}
      role={props.label ? "img" : undefined}
      aria-label={props.label}
      aria-hidden={props.label ? undefined : "true"}
    >
      <path d={line()} fill="none" stroke={COLOURS[props.meaning ?? "accent"]} stroke-width="1.5" vector-effect="non-scaling-stroke" />
    </svg>
  );
}
