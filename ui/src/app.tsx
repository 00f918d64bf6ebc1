// The frame of everything: who is signed in, the rail, the page.

import { A, Route, Router, useLocation, useNavigate, type RouteSectionProps } from "@solidjs/router";
import { createEffect, createSignal, ErrorBoundary, For, lazy, Match, onCleanup, onMount, Show, Suspense, Switch, type Component, type JSX } from "solid-js";
import "./app.css";
import { of, whole } from "./format";
import { alerts, feed, status, useLive } from "./live";
import { PAGES } from "./pages";
import { Head } from "./parts/head";
import { Icon } from "./parts/icon";
import { knownKeys, listenForKeys, useKeys, type Key } from "./parts/keys";
import { Popover } from "./parts/popover";
import { Empty, Loading, Trouble } from "./parts/states";
import { toastError, Toasts } from "./parts/toast";
import { setTheme, theme } from "./prefs";
import { watchPresence } from "./presence";
import { showCaptured } from "./range";
import { listen } from "./said";
import { hereIAm, may, refreshSession, session, signOut } from "./session";

const SignIn = lazy(() => import("./pages/sign-in"));
const Link = lazy(() => import("./pages/link"));
const PasswordDue = lazy(() => import("./pages/password-due"));
const Palette = lazy(() => import("./parts/palette"));

export function App(): JSX.Element {
  listen();
  const [failed, setFailed] = createSignal<unknown>();
  const ask = (): void => {
    setFailed(undefined);
    refreshSession().catch(setFailed);
  };
  onMount(() => {
    listenForKeys();
    watchPresence(() => void hereIAm().catch(() => undefined));
    ask();
  });
  createEffect(() => {
    const root = document.documentElement;
    if (theme() === "system") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", theme());
  });
  return (
    <Suspense>
      <Switch fallback={<Loading what="Trunkline" />}>
        <Match when={failed()}>
          <Trouble error={failed()} retry={ask} />
        </Match>
        <Match when={location.pathname === "/link" && session()}>
          <Link />
        </Match>
        <Match when={session()?.signed_in === false}>
          <SignIn />
        </Match>
        <Match when={session()?.user?.must_change_password}>
          <PasswordDue />
        </Match>
        <Match when={session()?.signed_in}>
          <Router root={Frame}>
            <For each={PAGES}>{(page) => <Route path={page.path} component={inPlace(page.body)} />}</For>
            <Route path="*" component={Lost} />
          </Router>
        </Match>
      </Switch>
    </Suspense>
  );
}

/**
 * A page with a place of its own to wait in. One place for all of them would hold the page before until the next one is
 * whole, and hold it for good where something that comes meanwhile changes what is waited for.
 */
function inPlace(Page: Component): Component {
  return () => (
    <Suspense fallback={<Loading what="the page" />}>
      <Page />
    </Suspense>
  );
}

function Lost(): JSX.Element {
  return (
    <>
      <Head title="Page not found" />
      <Empty icon="warn" title="Page not found">
        Check the address: it may be mistyped, or the link is from a newer version. <A href="/">Go to Now</A>.
      </Empty>
    </>
  );
}

function Frame(props: RouteSectionProps): JSX.Element {
  useLive();
  const navigate = useNavigate();
  const place = useLocation();
  const [help, setHelp] = createSignal(false);
  const [palette, setPalette] = createSignal(false);
  const shown = PAGES.filter((page) => page.icon && (!page.needs || may(page.needs)));
  useKeys([
    ...shown.filter((page) => page.key).map((page) => ({ keys: `g ${page.key}`, what: `Go to ${page.name}`, run: () => navigate(page.path.replace(/\/:.*$/, "")) })),
    { keys: "?", what: "Show keyboard shortcuts", run: () => setHelp(true) },
    { keys: ":", what: "Open the command palette (also Ctrl-K)", run: () => setPalette(true) },
  ]);
  // Ctrl-K works in fields, too, but not over a window that asks something.
  const byControl = (event: KeyboardEvent): void => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    if (document.querySelector("dialog[open]")) return;
    event.preventDefault();
    setPalette(true);
  };
  onMount(() => document.addEventListener("keydown", byControl));
  onCleanup(() => document.removeEventListener("keydown", byControl));
  onMount(() => {
    if (session()?.mode === "open") showCaptured().catch(toastError);
  });
  // A new page begins at its top, and the reader of a screen reader there, too.
  createEffect(() => {
    place.pathname;
    window.scrollTo(0, 0);
  });
  return (
    <div class="frame">
      <a class="skip" href="#page">
        Skip to the page
      </a>
      <nav class="rail" aria-label="Pages">
        <A class="brand" href="/" aria-label="Trunkline">
          <img src="/mark.svg" alt="" width="26" height="26" />
          <span>Trunkline</span>
        </A>
        <ul>
          <For each={shown}>
            {(page) => (
              <li>
                <A href={page.path.replace(/\/:.*$/, "")} end={page.path === "/"} activeClass="here" title={page.key ? `${page.name} (g ${page.key})` : page.name}>
                  <Icon name={page.icon!} />
                  <span>{page.name}</span>
                  <Show when={page.path === "/alerts" && (alerts()?.open ?? 0) > 0}>
                    <OpenAlerts />
                  </Show>
                </A>
              </li>
            )}
          </For>
        </ul>
        <div class="rail-foot">
          <FeedSign />
          <ThemeButton />
          <AccountMenu />
        </div>
      </nav>
      <main id="page" tabindex="-1">
        <ErrorBoundary fallback={(error, reset) => <Trouble error={error} retry={reset} />}>
          <Suspense fallback={<Loading what="the page" />}>{props.children}</Suspense>
        </ErrorBoundary>
      </main>
      <Toasts />
      <Show when={palette()}>
        <Suspense>
          <Palette close={() => setPalette(false)} />
        </Suspense>
      </Show>
      <Show when={help()}>
        <KeyHelp close={() => setHelp(false)} keys={knownKeys()} />
      </Show>
    </div>
  );
}

/** How many alerts are open: the colour is that of the worst, which the words for readers of screens name. */
function OpenAlerts(): JSX.Element {
  const worst = (): string => ((alerts()?.critical ?? 0) > 0 ? "bad" : (alerts()?.warning ?? 0) > 0 ? "warn" : "note");
  const open = (): number => alerts()?.open ?? 0;
  return (
    <b class={`rail-badge num ${worst()}`} title={`${of(open(), "open alert", "open alerts")}, ${whole(alerts()?.critical ?? 0)} critical`}>
      {open() > 99 ? "99+" : open()}
      <span class="sr"> open, {whole(alerts()?.critical ?? 0)} critical</span>
    </b>
  );
}

/** Whether what one sees is fresh, and whether packets are lost right now. */
function FeedSign(): JSX.Element {
  const lost = (): number => Object.values(status()?.rates.drops_per_s ?? {}).reduce((a, b) => a + b, 0);
  return (
    <A class="rail-button" href="/system">
      <Switch>
        <Match when={feed() === "live" && (lost() > 0 || (status()?.unhealthy.length ?? 0) > 0)}>
          <span class="bad-ink">
            <Icon name="bad" />
          </span>
          <span>{lost() > 0 ? "Losing packets" : "Unhealthy"}</span>
        </Match>
        <Match when={feed() === "live"}>
          <span class="good-ink">
            <Icon name="good" />
          </span>
          <span>Capturing</span>
        </Match>
        <Match when={feed() === "idle"}>
          <Icon name="note" />
          <span>Not capturing</span>
        </Match>
        <Match when={true}>
          <span class="warn-ink">
            <Icon name="warn" />
          </span>
          <span>Disconnected</span>
        </Match>
      </Switch>
    </A>
  );
}

function ThemeButton(): JSX.Element {
  const next = { system: "light", light: "dark", dark: "system" } as const;
  const names = { system: "Theme: system", light: "Theme: light", dark: "Theme: dark" };
  return (
    <button class="rail-button" onClick={() => setTheme(next[theme()])} title="Change the theme">
      <Icon name="sun" />
      <span>{names[theme()]}</span>
    </button>
  );
}

function AccountMenu(): JSX.Element {
  const name = (): string => session()?.user?.display_name || session()?.user?.name || "";
  return (
    <Popover
      menu
      buttonClass="rail-button"
      label={`Account of ${name()}`}
      title={name()}
      button={
        <>
          <Icon name="registrations" />
          <span class="clip">{name()}</span>
        </>
      }
    >
      {(close) => (
        <>
          <A class="choice" href="/settings/account" onClick={close}>
            <Icon name="settings" /> Profile
          </A>
          <button class="choice" onClick={() => void signOut().catch(toastError)}>
            <Icon name="out" /> Sign out
          </button>
        </>
      )}
    </Popover>
  );
}

function KeyHelp(props: { close: () => void; keys: readonly Key[] }): JSX.Element {
  let dialog: HTMLDialogElement | undefined;
  onMount(() => dialog?.showModal());
  return (
    <dialog ref={dialog} class="keys" aria-label="Keyboard shortcuts" onClose={props.close} onClick={(event) => event.target === dialog && props.close()}>
      <h2>Keyboard shortcuts</h2>
      <dl>
        <For each={props.keys}>
          {(key) => (
            <>
              <dt>
                <For each={key.keys.split(" ")}>{(one) => <kbd>{one}</kbd>}</For>
              </dt>
              <dd>{key.what}</dd>
            </>
          )}
        </For>
      </dl>
      <button class="button" onClick={props.close}>
        Close
      </button>
    </dialog>
  );
}
