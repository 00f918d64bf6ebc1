import { createMemo, For, Show, type JSX } from "solid-js";
import { diff } from "../call/diff";

/** Lines around a difference that are shown. */
const AROUND = 2;

interface Line {
  sign: "" | "\u2212" | "+";
  text: string;
}

/** The lines of two texts that differ, with those around them. */
export function changed(before: string, after: string): Line[] {
  const lines: Line[] = diff(before.split("\n"), after.split("\n")).flatMap((pair): Line[] => {
    if (pair.left === pair.right) return [{ sign: "", text: pair.left ?? "" }];
    const gone: Line[] = pair.left === undefined ? [] : [{ sign: "\u2212", text: pair.left }];
    return pair.right === undefined ? gone : [...gone, { sign: "+", text: pair.right }];
  });
  const near = lines.map((_, at) => lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((line) => line.sign !== ""));
  return lines.filter((_, at) => near[at]);
}

export function PlanDiff(props: { before: string; after: string }): JSX.Element {
  const lines = createMemo(() => changed(props.before, props.after));
  return (
    <Show when={lines().length > 0} fallback={<p class="body muted">No differences.</p>}>
      <div class="charge-diff" tabindex="0" role="group" aria-label="Changed lines">
        <For each={lines()}>
          {(line) => (
            <div classList={{ gone: line.sign === "\u2212", came: line.sign === "+" }}>
              <span>{line.sign}</span>
              <span>{line.text}</span>
            </div>
          )}
        </For>
      </div>
    </Show>
  );
}
