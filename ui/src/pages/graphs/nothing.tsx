import type { JSX } from "solid-js";
import { Empty } from "../../parts/states";
import { may } from "../../session";

/** What pages say where no device is polled. */
export function NoGraphs(props: { trouble?: string | null | undefined; some?: boolean }): JSX.Element {
  if (props.trouble) {
    return (
      <Empty icon="bad" title="Graphs cannot be asked for">
        <p>{props.trouble}</p>
      </Empty>
    );
  }
  if (props.some && !may("graphs.manage")) {
    return (
      <Empty icon="graphs" title="There is no graph for you to see">
        <p>No device is polled yet, or none that you may see: ask an administrator.</p>
      </Empty>
    );
  }
  if (props.some) {
    return (
      <Empty icon="graphs" title="No device is polled yet">
        <p>
          Add one here (<i>Add a device</i>), or type <code>trunkline graph add NAME ADDRESS --credential NAME</code>. It is looked at at once, and its graphs come with its first answers.
        </p>
      </Empty>
    );
  }
  return (
    <Empty icon="graphs" title="No graphs are made here">
      <p>
        <code>[graph]</code> in the configuration lets <code>trunkline run</code> poll devices beside the capture; then <code>trunkline graph add NAME ADDRESS --credential NAME</code> adds the first one.
      </p>
    </Empty>
  );
}
