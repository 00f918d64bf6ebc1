import type { JSX } from "solid-js";
import "./fill.css";

/** How full something is, 0 to 1; from four fifths on it warns, near the end it alarms. The figure stands beside it. */
export function Fill(props: { share: number; label: string }): JSX.Element {
  const meaning = (): string => (props.share >= 0.95 ? "bad" : props.share >= 0.8 ? "warn" : "accent");
  return (
    <span class="fill" role="meter" aria-label={props.label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(props.share * 100)}>
      <span style={{ width: `${Math.min(100, Math.max(0, props.share * 100))}%`, background: `var(--${meaning()})` }} />
    </span>
  );
}
