import type { JSX } from "solid-js";
import { clock, clockMs, day, full, ms, utc } from "../time";

/** "short" leaves the day out if it is today, and its year otherwise. */
type Shape = "full" | "short" | "clock" | "clock-ms" | "day";

/** A time in the viewer's zone, UTC on hover. Takes RFC 3339 or milliseconds since 1970. */
export function Time(props: { at: string | number | null | undefined; shape?: Shape }): JSX.Element {
  const at = (): number | undefined => (typeof props.at === "string" ? ms(props.at) : (props.at ?? undefined));
  const text = (at: number): string => {
    switch (props.shape ?? "full") {
      case "short":
        return day(at) === day(Date.now()) ? clock(at) : full(at).slice("2026-".length);
      case "clock":
        return clock(at);
      case "clock-ms":
        return clockMs(at);
      case "day":
        return day(at);
      default:
        return full(at);
    }
  };
  return (
    <time class="num nowrap" dateTime={at() === undefined ? undefined : new Date(at()!).toISOString()} title={at() === undefined ? undefined : utc(at()!)}>
      {at() === undefined ? "–" : text(at()!)}
    </time>
  );
}
