import { A } from "@solidjs/router";
import { Show, type JSX } from "solid-js";
import { seesAllGraphs } from "../../session";

/** The rule of an alert, which leads to its page where that is shown. */
export function RuleName(props: { rule: string }): JSX.Element {
  return (
    <Show when={seesAllGraphs()} fallback={<span>{props.rule}</span>}>
      <A href={`/alerts/rules/${props.rule}`}>{props.rule}</A>
    </Show>
  );
}
