import { createResource, Show, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { PacketTimeline } from "../../api/types";
import { RetentionTable } from "../packets/retention";
import { known } from "../../parts/known";

/** What is kept how long. It is set where the program is set up: whoever may change it can change the law's time. */
export function RetentionPart(): JSX.Element {
  const [timeline] = createResource(() => get<PacketTimeline>("/packets/timeline", { from: "now-1h", to: "now", buckets: 1 }));
  return (
    <section class="panel">
      <header>
        <h2>Packet retention</h2>
      </header>
      <Show when={known(timeline)} fallback={<p class="body muted">{timeline.error ? String(timeline.error.message) : "Loading …"}</p>}>
        {(timeline) => <RetentionTable retention={timeline().retention} />}
      </Show>
      <p class="body muted">
        The retention rules are in the configuration, <code>[record.sip]</code>, <code>[record.rtp]</code> and <code>[record.other]</code>: <code>keep</code> and <code>limit</code>. SIGHUP reloads them;{" "}
        <code>trunkline config example</code> shows all options, <code>trunkline packets pin</code> protects a time range from deletion.
      </p>
    </section>
  );
}
