// What pages say where there is nothing: why, and what to do.

import { Show, type JSX } from "solid-js";
import type { AlertStatus } from "../../api/types";
import { CopyButton } from "../../parts/copy";
import { Empty } from "../../parts/states";

const EXAMPLE = `[rule.device-down]
title = "|device| does not answer"
template = "device"
value = "up"
condition = "low"
limit = 1
for = "2 min"
severity = "critical"

[rule.failed-calls]
title = "|value| % of calls from |src| fail"
rows = "calls"
measure = "share"
of = "code>=500"
group = "src/host"
limit = 30
minimum = 20

[route.all]
channels = "noc"

[channel.noc]
kind = "webhook"
url = "https://chat.example.org/hook"
`;

/** Nobody looks after alerts, it cannot be told, or there are no rules; else what stands inside. */
export function WithAlerts(props: { status: AlertStatus; children: JSX.Element }): JSX.Element {
  const rules = (): number => props.status.summary?.rules ?? 0;
  return (
    <Show when={props.status.serving} fallback={<Off />}>
      <Show
        when={!props.status.trouble}
        fallback={
          <Empty icon="bad" title="The alert job did not answer">
            <p>{props.status.trouble}</p>
          </Empty>
        }
      >
        <Show when={rules() > 0} fallback={<NoRules />}>
          {props.children}
        </Show>
      </Show>
    </Show>
  );
}

function Off(): JSX.Element {
  return (
    <Empty icon="alerts" title="Alerting is off">
      <p>
        <code>[alert] enabled = true</code> in the configuration turns it on for <code>trunkline run</code> and <code>trunkline graph serve</code>. Rules are the files <code>alert/rules/*.toml</code> in the data folder.
      </p>
    </Empty>
  );
}

function NoRules(): JSX.Element {
  return (
    <div class="alerts">
      <Empty icon="alerts" title="No rules yet">
        <p>
          Save this as <code>alert/rules/noc.toml</code> in the data folder, run <code>trunkline alert check</code>, then <code>trunkline alert reload</code>. For all options of a rule see <code>docs/manual/alerts.md</code>.
        </p>
      </Empty>
      <section class="panel" aria-label="Example rules">
        <header>
          <h2>Example</h2>
          <CopyButton text={() => EXAMPLE} what="Copy the example">
            Copy
          </CopyButton>
        </header>
        <pre class="body alerts-text" tabindex="0">
          {EXAMPLE}
        </pre>
      </section>
    </div>
  );
}
