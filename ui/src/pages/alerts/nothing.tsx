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
          <Empty icon="bad" title="Alerts cannot be asked for">
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
    <Empty icon="alerts" title="Nobody looks after alerts here">
      <p>
        <code>[alert] enabled = true</code> in the configuration lets <code>trunkline run</code> or <code>trunkline graph serve</code> look at rules. They stand in files <code>alert/rules/*.toml</code> of the data folder of these pages.
      </p>
    </Empty>
  );
}

function NoRules(): JSX.Element {
  return (
    <div class="alerts">
      <Empty icon="alerts" title="There are no rules yet">
        <p>
          Write this into <code>alert/rules/noc.toml</code> of the data folder, look at it with <code>trunkline alert check</code>, then <code>trunkline alert reload</code>. <code>docs/manual/alerts.md</code> has all that a rule can say.
        </p>
      </Empty>
      <section class="panel" aria-label="An example of rules">
        <header>
          <h2>An example</h2>
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
