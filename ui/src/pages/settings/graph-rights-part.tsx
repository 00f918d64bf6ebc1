// Who may see which devices, trees and graphs: rules of a role or a user, and beside them what comes of it.

import { useSearchParams } from "@solidjs/router";
import { createMemo, createResource, createSignal, For, Show, type JSX } from "solid-js";
import { get, post, put, remove } from "../../api/client";
import type { GraphPreview, GraphRights, GraphRule, GraphRuleTold, Role, User } from "../../api/types";
import { of, whole } from "../../format";
import { Icon } from "../../parts/icon";
import { known } from "../../parts/known";
import { Tag } from "../../parts/meaning";
import { toastError } from "../../parts/toast";
import { Form } from "./form";
import { bodyOf, KINDS, kindOf, queryOf, rightsOf, takes, whoseOf, type Whose } from "./graph-rights";

const ROLES: Role[] = ["viewer", "support", "engineer"];

export function GraphRightsPart(): JSX.Element {
  const [search, setSearch] = useSearchParams<{ of?: string }>();
  const whose = createMemo(() => whoseOf(search.of));
  const [rights, { refetch }] = createResource(async () => (await get<{ rights: GraphRights[] }>("/graphs/rights")).rights);
  const [users] = createResource(async () => (await get<{ users: User[] }>("/users")).users);
  const [preview, { refetch: look }] = createResource(whose, (of) => get<GraphPreview>(`/graphs/rights/preview?${queryOf(of)}`));
  const own = (): GraphRights => rightsOf(known(rights) ?? [], whose());
  const user = (): User | undefined => known(users)?.find((one) => one.name === whose().user);
  const isBoss = (): boolean => user()?.role === "administrator";
  const again = (): void => {
    void refetch();
    void look();
  };
  return (
    <>
      <section class="panel">
        <header>
          <h2>Graph permissions</h2>
          <span class="muted">who sees which devices, trees and graphs; administrators see all</span>
        </header>
        <div class="body stack">
          <label class="field">
            <span>Rules of</span>
            <select class="input" value={search.of ?? "role:viewer"} onChange={(e) => setSearch({ of: e.currentTarget.value })}>
              <optgroup label="All users of a role">
                <For each={ROLES}>{(role) => <option value={`role:${role}`}>{role}</option>}</For>
              </optgroup>
              <optgroup label="A user; checked before the rules of the role">
                <For each={known(users)?.filter((one) => one.role !== "administrator")}>{(one) => <option value={`user:${one.name}`} selected={search.of === `user:${one.name}`}>{`${one.name} (${one.role})`}</option>}</For>
              </optgroup>
            </select>
          </label>
          <Show when={!isBoss()} fallback={<p class="muted">{whose().user} is an administrator and sees everything.</p>}>
            <Default of={whose()} rights={own()} role={user()?.role} changed={again} />
          </Show>
        </div>
        <Show when={!rights.error} fallback={<p class="body bad-ink">{String(rights.error?.message)}</p>}>
          <Rules rules={own().rules} told={[...(known(preview)?.of_user ?? []), ...(known(preview)?.of_role ?? [])]} changed={again} />
        </Show>
        <Show when={whose().user && (known(preview)?.of_role.length ?? 0) > 0}>
          <p class="body muted">
            Then {of(known(preview)!.of_role.length, "rule", "rules")} of <a href={`/settings/graph-rights?of=role:${user()?.role ?? "viewer"}`}>their role</a> apply; the rules above have priority.
          </p>
        </Show>
      </section>
      <Seen of={whose()} preview={known(preview)} error={preview.error as Error | undefined} />
      <Show when={!isBoss()}>
        <Add of={whose()} added={again} />
      </Show>
    </>
  );
}

function Default(props: { of: Whose; rights: GraphRights; role: Role | undefined; changed: () => void }): JSX.Element {
  const set = (value: string): void => {
    put("/graphs/rights/default", { ...bodyOf(props.of), default: value }).then(props.changed).catch(toastError);
  };
  return (
    <label class="field">
      <span>Without a matching rule</span>
      <select class="input" value={props.rights.default} onChange={(e) => set(e.currentTarget.value)}>
        <Show when={props.of.user}>
          <option value="role" selected={props.rights.default === "role"}>{`same as the role ${props.role ?? ""}`}</option>
        </Show>
        <option value="everything" selected={props.rights.default === "everything"}>
          visible
        </option>
        <option value="nothing" selected={props.rights.default === "nothing"}>
          hidden
        </option>
      </select>
    </label>
  );
}

function Rules(props: { rules: GraphRule[]; told: GraphRuleTold[]; changed: () => void }): JSX.Element {
  const forget = (rule: GraphRule): void => {
    remove(`/graphs/rights/rules/${rule.id}`).then(props.changed).catch(toastError);
  };
  const about = (rule: GraphRule): GraphRuleTold | undefined => props.told.find((one) => one.id === rule.id);
  return (
    <Show when={props.rules.length > 0} fallback={<p class="body muted">No rules yet.</p>}>
      <div class="scroll" tabindex="0" role="group" aria-label="Table of rules">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Effect</th>
              <th scope="col">Applies to</th>
              <th scope="col">Pattern</th>
              <th scope="col">Matches now</th>
              <th scope="col">
                <span class="sr">Delete</span>
              </th>
            </tr>
          </thead>
          <tbody>
            <For each={props.rules}>
              {(rule) => (
                <tr>
                  <td>{rule.allow ? <Tag meaning="good">allow</Tag> : <Tag meaning="bad">deny</Tag>}</td>
                  <td>{kindOf(rule.kind).name}</td>
                  <td>
                    <code>{rule.value}</code>
                  </td>
                  <td>
                    <Show when={about(rule)} fallback="–">
                      {(one) => takes(one()) ?? <Tag meaning="warn">no match</Tag>}
                    </Show>
                  </td>
                  <td class="right">
                    <button class="button quiet icon danger" aria-label={`Delete ${rule.allow ? "allow" : "deny"} ${rule.kind} ${rule.value}`} onClick={() => forget(rule)}>
                      <Icon name="trash" />
                    </button>
                  </td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
    </Show>
  );
}

function Seen(props: { of: Whose; preview: GraphPreview | undefined; error: Error | undefined }): JSX.Element {
  const name = (): string => props.of.user ?? `a ${props.of.role}`;
  return (
    <section class="panel" aria-label="Preview">
      <header>
        <h2>What {name()} sees</h2>
        <Show when={props.preview?.whole}>
          <Tag meaning="good">everything</Tag>
        </Show>
      </header>
      <Show when={props.preview} fallback={<p class="body muted">{props.error ? `The preview is not available now: ${props.error.message}` : "Loading …"}</p>}>
        {(preview) => (
          <dl class="body rights-seen">
            <Names what="devices" count={preview().seen.devices} all={preview().all.devices} names={preview().devices} />
            <Names what="graphs" count={preview().seen.graphs} all={preview().all.graphs} names={preview().graphs} />
            <Names what="trees" count={preview().seen.trees} all={preview().all.trees} names={preview().trees} />
            <Show when={!preview().whole}>
              <dt>alerts of these objects</dt>
              <dd class="muted">and alerts without a device. Rules, channels and silences of others name all devices, so only users who see everything can see them</dd>
            </Show>
          </dl>
        )}
      </Show>
    </section>
  );
}

function Names(props: { what: string; count: number; all: number; names: string[] }): JSX.Element {
  return (
    <>
      <dt>
        {whole(props.count)} of {whole(props.all)} {props.what}
      </dt>
      <dd>
        <Show when={props.names.length > 0} fallback={<span class="muted">none</span>}>
          {props.names.join(", ")}
          <Show when={props.count > props.names.length}>
            <span class="muted"> and {whole(props.count - props.names.length)} more</span>
          </Show>
        </Show>
      </dd>
    </>
  );
}

function Add(props: { of: Whose; added: () => void }): JSX.Element {
  const [allow, setAllow] = createSignal(true);
  const [kind, setKind] = createSignal(KINDS[0]!.kind);
  const [value, setValue] = createSignal("");
  const send = async (): Promise<void> => {
    await post("/graphs/rights/rules", { ...bodyOf(props.of), allow: allow(), kind: kind(), value: value() });
    setValue("");
    props.added();
  };
  return (
    <section class="panel">
      <header>
        <h2>Add a rule</h2>
      </header>
      <div class="body">
        <Form action="Add the rule" done="Rule added." send={send}>
          <fieldset class="choices">
            <legend>Effect</legend>
            <label>
              <input type="radio" name="says" checked={allow()} onChange={() => setAllow(true)} /> allow
            </label>
            <label>
              <input type="radio" name="says" checked={!allow()} onChange={() => setAllow(false)} /> deny
            </label>
          </fieldset>
          <label class="field">
            <span>Applies to</span>
            <select class="input" value={kind()} onChange={(e) => setKind(e.currentTarget.value)}>
              <For each={KINDS}>{(one) => <option value={one.kind}>{one.name}</option>}</For>
            </select>
          </label>
          <label class="field">
            <span>{kindOf(kind()).ask}</span>
            <input class="input" required maxlength="255" inputmode={kindOf(kind()).isNumber ? "numeric" : "text"} placeholder={kindOf(kind()).example} value={value()} onInput={(e) => setValue(e.currentTarget.value)} />
          </label>
          <p class="muted">Deny has priority over allow; rules of a user have priority over rules of the role. A graph of several devices is visible if all of the devices are.</p>
        </Form>
      </div>
    </section>
  );
}
