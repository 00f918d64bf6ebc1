import { createResource, createSignal, For, Show, type JSX } from "solid-js";
import { get, put, remove } from "../../api/client";
import type { Alias } from "../../api/types";
import { Icon } from "../../parts/icon";
import { known } from "../../parts/known";
import { toast, toastError } from "../../parts/toast";
import { may } from "../../session";
import { parseAliases } from "./alias-text";
import { Form } from "./form";

const keep = (alias: Alias): Promise<void> => put(`/aliases/${encodeURIComponent(alias.match)}`, { name: alias.name });

/** Names for addresses and networks: what ladders and tables show instead. */
export function Aliases(): JSX.Element {
  const [aliases, { refetch }] = createResource(async () => (await get<{ aliases: Alias[] }>("/aliases")).aliases);
  const canWrite = may("aliases.write");
  const drop = (alias: Alias): void => {
    remove(`/aliases/${encodeURIComponent(alias.match)}`)
      .then(() => refetch())
      .catch(toastError);
  };
  return (
    <>
      <section class="panel">
        <header>
          <h2>Aliases</h2>
          <span class="muted">names for addresses, shown to all users; the longest match applies</span>
        </header>
        <Show when={(known(aliases)?.length ?? 0) > 0} fallback={<p class="body muted">{aliases.error ? String(aliases.error.message) : "No aliases yet."}</p>}>
          <div class="scroll">
            <table class="table">
              <thead>
                <tr>
                  <th scope="col">Address or network</th>
                  <th scope="col">Name</th>
                  <th scope="col">
                    <span class="sr">Delete</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                <For each={known(aliases)}>
                  {(alias) => (
                    <tr>
                      <td>
                        <code>{alias.match}</code>
                      </td>
                      <td>{alias.name}</td>
                      <td class="right">
                        <Show when={canWrite}>
                          <button class="button quiet icon danger" aria-label={`Delete ${alias.match}`} onClick={() => drop(alias)}>
                            <Icon name="trash" />
                          </button>
                        </Show>
                      </td>
                    </tr>
                  )}
                </For>
              </tbody>
            </table>
          </div>
        </Show>
      </section>
      <Show when={canWrite}>
        <Add added={() => void refetch()} />
      </Show>
    </>
  );
}

function Add(props: { added: () => void }): JSX.Element {
  const [text, setText] = createSignal("");
  const send = async (): Promise<void> => {
    const { aliases, faults } = parseAliases(text());
    if (faults.length > 0) throw new Error(faults[0]);
    for (const alias of aliases) await keep(alias);
    toast(`${aliases.length} saved`);
    setText("");
    props.added();
  };
  return (
    <section class="panel">
      <header>
        <h2>Add or change</h2>
      </header>
      <div class="body">
        <Form action="Save" send={send}>
          <label class="field">
            <span>One per line: address or network, comma, name. A line for an existing address changes its name.</span>
            <textarea class="input mono" rows="5" required placeholder={"10.1.0.0/16, access network\n10.1.2.3, SBC west"} value={text()} onInput={(e) => setText(e.currentTarget.value)} />
          </label>
        </Form>
      </div>
    </section>
  );
}
