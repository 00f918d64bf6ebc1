// How it is told whether a device is up, and what is read of one without SNMP.

import { createResource, createSignal, For, Show, type JSX } from "solid-js";
import { get } from "../../api/client";
import type { GraphTemplates } from "../../api/types";
import { known } from "../../parts/known";
import { Field } from "./fields";

const ARGUMENT = "argument.";

/** What the form says of it, as the API wants it. */
export function probed(said: FormData): Record<string, unknown> {
  const text = (name: string): string | undefined => String(said.get(name) ?? "").trim() || undefined;
  const whole = (name: string): number | undefined => (text(name) === undefined ? undefined : Number(text(name)));
  const probes = text("probes")?.split(/[\s,]+/);
  const told = [...said.keys()].filter((name) => name.startsWith(ARGUMENT) && text(name) !== undefined);
  const all = Object.fromEntries(told.map((name) => [name.slice(ARGUMENT.length), text(name)]));
  return {
    template: text("template"),
    arguments: told.length > 0 ? all : undefined,
    probes,
    probes_needed: probes === undefined ? undefined : text("probes_needed"),
    failures: whole("failures"),
    recoveries: whole("recoveries"),
    step_s: whole("step_s"),
  };
}

export function Probing(props: { snmp: boolean }): JSX.Element {
  const [templates] = createResource(() => get<GraphTemplates>("/graphs/templates"));
  const [template, setTemplate] = createSignal("");
  const fitting = (): GraphTemplates["templates"] => (known(templates)?.templates ?? []).filter((one) => one.snmp === props.snmp);
  const chosen = (): GraphTemplates["templates"][number] | undefined => fitting().find((one) => one.name === template());
  return (
    <>
      <label class="field">
        <span>Template</span>
        <select class="input" name="template" value={chosen()?.name ?? ""} onChange={(event) => setTemplate(event.currentTarget.value)}>
          <option value="">{props.snmp ? "automatic" : "none: up/down check only"}</option>
          <For each={fitting()}>{(one) => <option value={one.name}>{`${one.title} (${one.name})`}</option>}</For>
        </select>
      </label>
      <Show when={!props.snmp}>
        <For each={chosen()?.arguments ?? []}>{(name) => <Field name={ARGUMENT + name} label={`Argument: ${name}`} needed />}</For>
      </Show>
      <details class="graphs-more">
        <summary>Up/down check and polling interval</summary>
        <div class="stack">
          <Field name="probes" label="Up/down check" hint={props.snmp ? "snmp; or icmp, tcp:22, udp:5060" : "icmp; or tcp:5060, udp:5060"} />
          <label class="field">
            <span>With several checks</span>
            <select class="input" name="probes_needed">
              <option value="any">up if one answers</option>
              <option value="all">up if all answer</option>
            </select>
          </label>
          <Field name="failures" label="Down after this many failed checks" hint="2" />
          <Field name="recoveries" label="Up after this many answered checks" hint="1" />
          <Field name="step_s" label="Polling interval, seconds" hint="as the template says" />
        </div>
      </details>
    </>
  );
}
