// Adds a device, and the credential that it is asked with.

import { createResource, createSignal, For, Show, type JSX } from "solid-js";
import { get, post } from "../../api/client";
import type { GraphCredentials } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { known } from "../../parts/known";
import { Choice, Field } from "./fields";
import { probed, Probing } from "./probing";

const NEW = "new";

export function AddDevice(props: { name?: string; address?: string | undefined; close: () => void; added: () => void }): JSX.Element {
  const [credentials] = createResource(() => get<GraphCredentials>("/graphs/credentials"));
  const [credential, setCredential] = createSignal("");
  const [kind, setKind] = createSignal("community");
  const [version, setVersion] = createSignal("2c");
  const [error, setError] = createSignal("");
  const [busy, setBusy] = createSignal(false);
  const save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const said = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string): string | undefined => String(said.get(name) ?? "").trim() || undefined;
    setError("");
    setBusy(true);
    try {
      let chosen = credential() || undefined;
      if (chosen === NEW) {
        chosen = text("credential_name");
        const fields = ["community", "user", "authentication", "authentication_password", "privacy", "privacy_password"];
        await post("/graphs/credentials", { name: chosen, kind: kind(), ...Object.fromEntries(fields.map((name) => [name, text(name)])) });
        setCredential(chosen ?? "");
      }
      await post("/graphs/devices", { name: text("name"), address: text("address"), version: version(), port: Number(text("port") ?? 161), credential: version() === "none" ? undefined : chosen, notes: text("notes"), ...probed(said) });
      props.added();
      props.close();
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
    }
    setBusy(false);
  };
  return (
    <Dialog title="Add a device" close={props.close}>
      <form class="stack" onSubmit={(event) => void save(event)}>
        <Field name="name" label="Name" value={props.name ?? ""} needed />
        <Field name="address" label="Address or host name" value={props.address ?? ""} needed />
        <label class="field">
          <span>SNMP</span>
          <select class="input" value={version()} onChange={(event) => setVersion(event.currentTarget.value)}>
            <option value="2c">version 2c</option>
            <option value="3">version 3</option>
            <option value="1">version 1</option>
            <option value="none">none: up/down check only</option>
          </select>
        </label>
        <Show when={version() !== "none"}>
          <Field name="port" label="Port" value="161" />
          <label class="field">
            <span>Credential</span>
            <select
              class="input"
              value={credential()}
              onChange={(event) => {
                setCredential(event.currentTarget.value);
                setKind(version() === "3" ? "user" : "community");
              }}
            >
              <option value="">public</option>
              <For each={known(credentials)?.credentials ?? []}>{(one) => <option value={one.name}>{`${one.name} (${one.kind})`}</option>}</For>
              <option value={NEW}>a new one …</option>
            </select>
          </label>
          <Show when={credential() === NEW}>
            <Field name="credential_name" label="Name of the credential" needed />
            <Show when={version() === "3"} fallback={<Field name="community" label="Community" secret needed />}>
              <Field name="user" label="User" needed />
              <Choice name="authentication" label="Authentication" all={["none", "sha256", "sha512", "sha384", "sha224", "sha1", "md5"]} />
              <Field name="authentication_password" label="Its password" secret />
              <Choice name="privacy" label="Privacy" all={["none", "aes128", "aes192", "aes256", "des"]} />
              <Field name="privacy_password" label="Its password" secret />
            </Show>
          </Show>
        </Show>
        <Probing snmp={version() !== "none"} />
        <Field name="notes" label="Notes" />
        <Show when={error()}>
          <p class="bad-ink" role="alert">
            {error()}
          </p>
        </Show>
        <button class="button primary" disabled={busy()}>
          Add the device
        </button>
      </form>
    </Dialog>
  );
}
