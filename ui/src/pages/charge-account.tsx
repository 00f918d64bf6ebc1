// An account of charging: what it has, what came and went, whom it pays for, and what an operator does to it.

import { A, useNavigate, useParams } from "@solidjs/router";
import { createMemo, createResource, createSignal, For, Match, Show, Switch, type JSX } from "solid-js";
import { get, post, put } from "../api/client";
import { Problem } from "../api/problem";
import type { ChargeAccount, ChargePlans, ChargeSubscriber } from "../api/types";
import { Dialog } from "../parts/dialog";
import { Head } from "../parts/head";
import { useKeys } from "../parts/keys";
import { known } from "../parts/known";
import { Empty, Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { toast } from "../parts/toast";
import { may } from "../session";
import { Ledger } from "./charge/ledger";
import { MoneyDialog, type Order } from "./charge/money-dialog";
import { ChargeNav, NoNode } from "./charge/nav";
import { Usage } from "./charge/usage";
import { minorOf, money, sought, units } from "./charge/words";

export default function ChargeAccountPage(): JSX.Element {
  const params = useParams<{ number?: string }>();
  return (
    <Show when={params.number} keyed fallback={<Search />}>
      {(number) => <One number={number} />}
    </Show>
  );
}

const isAbsent = (problem: unknown): boolean => problem instanceof Problem && problem.kind === "not-found";

const isAccount = (number: string): Promise<boolean> =>
  get<ChargeAccount>(`/charge/accounts/${number}`).then(
    () => true,
    (problem) => {
      if (isAbsent(problem)) return false;
      throw problem;
    },
  );

/** Whom one looks for. */
function Find(): JSX.Element {
  let field: HTMLInputElement | undefined;
  const navigate = useNavigate();
  const [error, setError] = createSignal("");
  const [busy, setBusy] = createSignal(false);
  useKeys([{ keys: "/", what: "Find an account or a subscriber", run: () => field?.focus() }]);
  const find = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setError("");
    const wanted = sought(field?.value ?? "");
    if (!wanted) return void setError("Enter an account number, a phone number with +, or imsi:.., e164:.., sip:.., nai:.., private:..");
    if (wanted.account && wanted.identities.length === 0) return void navigate(`/charge/accounts/${wanted.account}`);
    setBusy(true);
    for (const identity of wanted.identities) {
      try {
        const found = await get<ChargeSubscriber>("/charge/subscribers", { identity });
        setBusy(false);
        return void navigate(`/charge/accounts/${found.account.number}`);
      } catch (problem) {
        setError(problem instanceof Error ? problem.message : String(problem));
        // Only where nobody has that identity something else may be meant.
        if (!isAbsent(problem)) return void setBusy(false);
      }
    }
    try {
      if (wanted.account && (await isAccount(wanted.account))) navigate(`/charge/accounts/${Number(wanted.account)}`);
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
    }
    setBusy(false);
  };
  return (
    <form class="row charge-ask" role="search" onSubmit={(event) => void find(event)}>
      <input ref={field} class="input" size="34" type="search" aria-label="Account, number or identity" placeholder="account, +number, imsi:.., sip:.." />
      <button class="button" disabled={busy()}>
        Find
      </button>
      <Show when={error()}>
        <span class="bad-ink" role="alert">
          {error()}
        </span>
      </Show>
    </form>
  );
}

function Search(): JSX.Element {
  const [plans] = createResource(() => get<ChargePlans>("/charge/plans"));
  const [opening, setOpening] = createSignal(false);
  const nobody = (): boolean => plans.error instanceof Problem && plans.error.kind === "not-found";
  return (
    <>
      <Head title="Accounts">
        <Show when={may("charge.operate") && known(plans)?.plans.length}>
          <button class="button" onClick={() => setOpening(true)}>
            New account
          </button>
        </Show>
      </Head>
      <ChargeNav />
      <div class="charge">
        <Show when={!nobody()} fallback={<NoNode />}>
          <Find />
          <Empty icon="registrations" title="Find an account">
            <p>
              Search by account number or by an identity of its subscriber. To import many accounts, run <code>trunkline charge import subscribers.csv</code>.
            </p>
          </Empty>
        </Show>
      </div>
      <Show when={opening()}>
        <NewAccount plans={known(plans)?.plans.map((plan) => plan.name) ?? []} close={() => setOpening(false)} />
      </Show>
    </>
  );
}

function NewAccount(props: { plans: string[]; close: () => void }): JSX.Element {
  const navigate = useNavigate();
  const [number, setNumber] = createSignal("");
  const [plan, setPlan] = createSignal(props.plans[0] ?? "");
  const [balance, setBalance] = createSignal("0");
  const [identity, setIdentity] = createSignal("");
  const [error, setError] = createSignal("");
  // Where the subscriber was refused, it is only that which is asked for again.
  let made: number | undefined;
  const make = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setError("");
    try {
      const { decimals } = await get<{ decimals: number | null }>(`/charge/plans/${encodeURIComponent(plan())}`);
      const minor = minorOf(balance(), { currency: null, decimals });
      if (minor === undefined) return void setError("The balance is not a valid amount in the plan's currency.");
      const account = Number(number());
      if (made !== account) await post("/charge/accounts", { account, plan: plan(), balance: minor });
      made = account;
      if (identity().trim()) await put(`/charge/subscribers/${account}`, { account, identities: identity().trim().split(/[\s,]+/) });
      toast(`Account ${account} created.`);
      navigate(`/charge/accounts/${account}`);
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
    }
  };
  return (
    <Dialog title="New account" close={props.close}>
      <form class="stack" onSubmit={(event) => void make(event)}>
        <label class="field">
          <span>Number</span>
          <input class="input" required inputmode="numeric" pattern="[0-9]{1,15}" autofocus value={number()} onInput={(event) => setNumber(event.currentTarget.value)} />
        </label>
        <label class="field">
          <span>Plan</span>
          <select class="input" value={plan()} onChange={(event) => setPlan(event.currentTarget.value)}>
            <For each={props.plans}>{(name) => <option value={name}>{name}</option>}</For>
          </select>
        </label>
        <label class="field">
          <span>Opening balance</span>
          <input class="input" inputmode="decimal" value={balance()} onInput={(event) => setBalance(event.currentTarget.value)} />
        </label>
        <label class="field">
          <span>Subscriber identities (imsi:.. e164:..), optional</span>
          <input class="input" value={identity()} onInput={(event) => setIdentity(event.currentTarget.value)} />
        </label>
        <Show when={error()}>
          <p class="bad-ink" role="alert">
            {error()}
          </p>
        </Show>
        <footer class="row">
          <button type="button" class="button spread" onClick={props.close}>
            Cancel
          </button>
          <button class="button primary">Create</button>
        </footer>
      </form>
    </Dialog>
  );
}

function One(props: { number: string }): JSX.Element {
  const [account, again] = createResource(() => get<ChargeAccount>(`/charge/accounts/${props.number}`));
  const [order, setOrder] = createSignal<Order>();
  const [up, setUp] = createSignal(0);
  const look = (): void => {
    setUp((n) => n + 1);
    void again.refetch();
  };
  const found = createMemo(() => known(account));
  return (
    <>
      <Head title={`Account ${props.number}`}>
        <Show when={found()}>
          <button class="button" onClick={look}>
            Refresh
          </button>
          <Show when={may("charge.operate")}>
            <button class="button primary" onClick={() => setOrder("top-up")}>
              Top up
            </button>
            <Show when={found()!.offers.length > 0}>
              <button class="button" onClick={() => setOrder("buy")}>
                Add a bundle
              </button>
            </Show>
          </Show>
          <Show when={may("charge.manage")}>
            <button class="button" onClick={() => setOrder("adjust")}>
              Adjust
            </button>
          </Show>
        </Show>
      </Head>
      <ChargeNav />
      <div class="charge">
        <Find />
        <Switch fallback={<Loading what="the account" />}>
          <Match when={account.error instanceof Problem && account.error.kind === "not-found"}>
            <Empty icon="registrations" title="Account not found">
              <p>{account.error.message} Search for another one above.</p>
            </Empty>
          </Match>
          <Match when={account.error}>
            <Trouble error={account.error} retry={look} />
          </Match>
          <Match when={found()}>
            {(account) => (
              <>
                <Summary account={account()} />
                <div class="charge-columns">
                  <Bundles account={account()} />
                  <Usage account={account().number} up={up()} coin={account()} />
                </div>
                <Ledger account={account().number} up={up()} balance={account().balance} coin={account()} />
              </>
            )}
          </Match>
        </Switch>
      </div>
      <Show when={order() && found()}>
        <MoneyDialog order={order()!} account={found()!} close={() => setOrder(undefined)} done={look} />
      </Show>
    </>
  );
}

function Summary(props: { account: ChargeAccount }): JSX.Element {
  const a = (): ChargeAccount => props.account;
  return (
    <section class="panel" aria-label="Balance">
      <dl class="charge-facts body">
        <div>
          <dt>Balance</dt>
          <dd class="charge-balance">{money(a().balance, a())}</dd>
        </div>
        <div>
          <dt>Reserved</dt>
          <dd>{money(a().reserved, a())}</dd>
        </div>
        <div>
          <dt>Available</dt>
          <dd>{money(Math.max(0, a().balance + a().credit - a().reserved), a())}</dd>
        </div>
        <div>
          <dt>Credit limit</dt>
          <dd>{a().credit === 0 ? "none: prepaid" : money(a().credit, a())}</dd>
        </div>
        <div>
          <dt>Plan</dt>
          <dd>
            <Show when={a().plan} fallback="the plan no longer exists">
              {(plan) => <A href={`/charge/tariffs/${encodeURIComponent(plan())}`}>{plan()}</A>}
            </Show>
          </dd>
        </div>
        <div>
          <dt>Open sessions</dt>
          <dd>
            <A href={`/charge/sessions?account=${a().number}`}>{a().sessions_total}</A>
          </dd>
        </div>
        <For each={a().subscribers}>
          {(subscriber) => (
            <div>
              <dt>Subscriber {subscriber.subscriber}</dt>
              <dd class="mono">
                <For each={subscriber.identities} fallback="no identity">
                  {(name) => <div>{name}</div>}
                </For>
              </dd>
            </div>
          )}
        </For>
        <Show when={a().subscribers_total > a().subscribers.length}>
          <div>
            <dt>More subscribers</dt>
            <dd>{a().subscribers_total - a().subscribers.length}</dd>
          </div>
        </Show>
      </dl>
    </section>
  );
}

function Bundles(props: { account: ChargeAccount }): JSX.Element {
  const a = (): ChargeAccount => props.account;
  return (
    <section class="panel" aria-label="Bundles and limits">
      <header>
        <h2>Bundles and limits</h2>
      </header>
      <Show when={a().allowances.length + a().counters.length > 0} fallback={<p class="body muted">No bundles, and no limit used.</p>}>
        <ul class="charge-bars body">
          <For each={a().allowances}>
            {(bundle) => {
              const whole = (): number => Math.max(1, bundle.left, a().offers.find((offer) => offer.name === bundle.name)?.amount ?? 0);
              return (
                <li>
                  <span>{bundle.name ?? "of a previous plan"}</span>
                  <span class="charge-bar" aria-hidden="true">
                    <span style={{ width: `${(bundle.left / whole()) * 100}%` }} />
                  </span>
                  <span class="num">
                    {units(bundle.left, bundle.unit)} left
                    <Show when={bundle.ends}>
                      <span class="muted">
                        {" "}
                        until <Time at={bundle.ends} shape="day" />
                      </span>
                    </Show>
                  </span>
                </li>
              );
            }}
          </For>
          <For each={a().counters}>
            {(limit) => (
              <li>
                <span>{limit.cap}</span>
                <span class="charge-bar" aria-hidden="true">
                  <span style={{ width: `${Math.min(100, (limit.used / Math.max(1, limit.limit)) * 100)}%` }} />
                </span>
                <span class="num">
                  {money(limit.used, a())} <span class="muted">of {money(limit.limit, a())}</span>
                </span>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </section>
  );
}
