import type { JSX } from "solid-js";
import { Empty } from "../../parts/states";
import { may } from "../../session";

/** What pages say where no device is polled. */
export function NoGraphs(props: { trouble?: string | null | undefined; some?: boolean }): JSX.Element {
  if (props.trouble) {
    return (
      <Empty icon="bad" title="The graph poller did not answer">
        <p>{props.trouble}</p>
      </Empty>
    );
  }
  if (props.some && !may("graphs.manage")) {
    return (
      <Empty icon="graphs" title="No graphs visible to you">
        <p>No devices are polled yet, or your role does not see them: ask an administrator.</p>
      </Empty>
    );
  }
  if (props.some) {
    return (
      <Empty icon="graphs" title="No devices yet">
        <p>
          Add one here (<i>Add a device</i>), or run <code>trunkline graph add NAME ADDRESS --credential NAME</code>. It is polled at once, and its graphs appear with its first answers.
        </p>
      </Empty>
    );
  }
  return (
    <Empty icon="graphs" title="Polling is off">
      <p>
        <code>[graph]</code> in the configuration turns on polling in <code>trunkline run</code>; then <code>trunkline graph add NAME ADDRESS --credential NAME</code> adds the first one.
      </p>
    </Empty>
  );
}
