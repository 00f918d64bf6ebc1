import { createResource, createSignal, For, Show, type JSX } from "solid-js";
import { get, patch, post, remove } from "../../api/client";
import type { Role, User } from "../../api/types";
import { Confirm, Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { known } from "../../parts/known";
import { Tag } from "../../parts/meaning";
import { Popover } from "../../parts/popover";
import { Time } from "../../parts/time";
import { toast, toastError } from "../../parts/toast";
import { session } from "../../session";
import { Form } from "./form";
import { SessionsTable } from "./sessions";

const ROLES: { role: Role; may: string }[] = [
  { role: "viewer", may: "sees calls and statistics, numbers masked" },
  { role: "support", may: "also full numbers, raw messages, packets of a call, export" },
  { role: "engineer", may: "also extraction, uploads, aliases, shared filters" },
  { role: "administrator", may: "also users, all tokens and the audit log" },
];

/** Who may sign in, and as what. Passwords are chosen by their owners, through a one-time link. */
export function Users(): JSX.Element {
  const [users, { refetch }] = createResource(async () => (await get<{ users: User[] }>("/users")).users);
  const [link, setLink] = createSignal<{ user: string; link: string }>();
  const [leaving, setLeaving] = createSignal<User>();
  const [looked, setLooked] = createSignal<User>();
  const change = (user: User, what: Partial<User>): void => {
    patch(`/users/${encodeURIComponent(user.name)}`, what)
      .then(() => refetch())
      .catch(toastError);
  };
  const makeLink = (name: string): void => {
    post<{ path: string }>(`/users/${encodeURIComponent(name)}/link`)
      .then((made) => setLink({ user: name, link: location.origin + made.path }))
      .catch(toastError);
  };
  return (
    <>
      <section class="panel">
        <header>
          <h2>Users</h2>
        </header>
        <div class="scroll">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Role</th>
                <th scope="col">State</th>
                <th scope="col">Last sign-in</th>
                <th scope="col">
                  <span class="sr">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              <For each={known(users)}>
                {(user) => (
                  <tr>
                    <td>
                      {user.name} <span class="muted">{user.display_name}</span>
                    </td>
                    <td>
                      <select class="input" aria-label={`Role of ${user.name}`} value={user.role} disabled={user.name === session()?.user?.name} onChange={(e) => change(user, { role: e.currentTarget.value as Role })}>
                        <For each={ROLES}>{(one) => <option value={one.role}>{one.role}</option>}</For>
                      </select>
                    </td>
                    <td>
                      {user.locked ? <Tag meaning="bad">locked</Tag> : !user.has_password && !user.oidc ? <Tag meaning="warn">no password yet</Tag> : <Tag meaning="good">active</Tag>}
                      {user.held_off_until ? <Tag meaning="warn">locked out after wrong passwords</Tag> : null} {user.oidc ? <Tag meaning="note">single sign-on</Tag> : null}
                    </td>
                    <td>{user.last_sign_in ? <Time at={user.last_sign_in} /> : "never"}</td>
                    <td class="right">
                      <Popover menu align="end" buttonClass="quiet icon" button={<Icon name="menu" />} label={`Actions for ${user.name}`}>
                        {(close) => (
                          <Actions
                            user={user}
                            choose={(run) => {
                              close();
                              run();
                            }}
                            link={() => makeLink(user.name)}
                            lock={() => change(user, { locked: !user.locked })}
                            sessions={() => setLooked(user)}
                            leave={() => setLeaving(user)}
                          />
                        )}
                      </Popover>
                    </td>
                  </tr>
                )}
              </For>
            </tbody>
          </table>
        </div>
      </section>
      <NewUser
        made={(name) => {
          void refetch();
          makeLink(name);
        }}
      />
      <Show when={link()}>
        {(made) => (
          <Dialog title={`Link for ${made().user}`} close={() => setLink(undefined)}>
            <p>The link works once, to set the password of {made().user}. Send it over a channel that nobody else can read.</p>
            <code>{made().link}</code>
            <button class="button" onClick={() => void navigator.clipboard.writeText(made().link).then(() => toast("Copied"))}>
              <Icon name="copy" /> Copy the link
            </button>
          </Dialog>
        )}
      </Show>
      <Show when={looked()}>
        {(user) => (
          <Dialog title={`Sessions of ${user().name}`} wide close={() => setLooked(undefined)}>
            <SessionsTable of={user().name} />
          </Dialog>
        )}
      </Show>
      <Show when={leaving()}>
        {(user) => (
          <Confirm
            title={`Delete ${user().name}?`}
            text="The user's sessions and tokens end at once. Their audit log entries are kept."
            action="Delete the user"
            close={() => setLeaving(undefined)}
            run={async () => {
              await remove(`/users/${encodeURIComponent(user().name)}`);
              await refetch();
            }}
          />
        )}
      </Show>
    </>
  );
}

function Actions(props: { user: User; choose: (run: () => void) => void; link: () => void; lock: () => void; sessions: () => void; leave: () => void }): JSX.Element {
  return (
    <>
      <Show when={!props.user.oidc}>
        <button class="choice" onClick={() => props.choose(props.link)}>
          <Icon name="link" /> Create a password link
        </button>
      </Show>
      <button class="choice" onClick={() => props.choose(props.sessions)}>
        <Icon name="out" /> Sessions
      </button>
      <button class="choice" onClick={() => props.choose(props.lock)}>
        <Icon name="key" /> {props.user.locked ? "Unlock" : "Lock"}
      </button>
      <button class="choice" onClick={() => props.choose(props.leave)}>
        <Icon name="trash" /> Delete
      </button>
    </>
  );
}

function NewUser(props: { made: (name: string) => void }): JSX.Element {
  const [name, setName] = createSignal("");
  const [display, setDisplay] = createSignal("");
  const [role, setRole] = createSignal<Role>("viewer");
  const send = async (): Promise<void> => {
    await post("/users", { name: name(), display_name: display(), role: role() });
    props.made(name());
    setName("");
    setDisplay("");
    setRole("viewer");
  };
  return (
    <section class="panel">
      <header>
        <h2>Add a user</h2>
      </header>
      <div class="body">
        <Form action="Add the user" send={send}>
          <label class="field">
            <span>User name</span>
            <input class="input" required maxlength="64" autocapitalize="none" value={name()} onInput={(e) => setName(e.currentTarget.value)} />
          </label>
          <label class="field">
            <span>Full name (optional)</span>
            <input class="input" maxlength="128" value={display()} onInput={(e) => setDisplay(e.currentTarget.value)} />
          </label>
          <fieldset class="choices column">
            <legend>Role</legend>
            <For each={ROLES}>
              {(one) => (
                <label>
                  <input type="radio" name="role" checked={role() === one.role} onChange={() => setRole(one.role)} /> <span class="nowrap">{one.role}</span>
                  <span class="muted">{one.may}</span>
                </label>
              )}
            </For>
          </fieldset>
        </Form>
      </div>
    </section>
  );
}
