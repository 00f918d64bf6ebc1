import { createSignal, For, Show, type JSX } from "solid-js";
import { post } from "../../api/client";
import { Problem } from "../../api/problem";
import type { ChargeAccount, ChargeDone } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { toast } from "../../parts/toast";
import { minorOf, money, newKey, units } from "./words";

export type Order = "top-up" | "adjust" | "buy";

const TITLES: Record<Order, string> = { "top-up": "Top up", adjust: "Adjust the balance", buy: "Add a bundle" };

/**
 * Money or a bundle for an account, in two steps: what, and whether it is right. The order has a key, so that one that
 * is sent again because nothing was heard is not done twice.
 */
export function MoneyDialog(props: { order: Order; account: ChargeAccount; close: () => void; done: () => void }): JSX.Element {
  const [amount, setAmount] = createSignal("");
  const [note, setNote] = createSignal("");
  const [allowance, setAllowance] = createSignal(props.account.offers[0]?.name ?? "");
  const [sure, setSure] = createSignal(false);
  const [busy, setBusy] = createSignal(false);
  const [error, setError] = createSignal("");
  let key = newKey();
  // One that was sent and of which nothing was heard may have been done: it stays this order until it is known.
  const [unheard, setUnheard] = createSignal(false);
  const close = (): void => void (!busy() && props.close());
  const minor = (): number | undefined => minorOf(amount(), props.account);
  const isRight = (): boolean => (props.order === "buy" ? allowance() !== "" : minor() !== undefined && minor() !== 0 && (props.order === "adjust" || minor()! > 0));
  const body = (): unknown => (props.order === "buy" ? { allowance: allowance(), key } : { amount: minor(), note: note().trim(), key });
  const send = async (): Promise<void> => {
    setBusy(true);
    setError("");
    try {
      const done = await post<ChargeDone>(`/charge/accounts/${props.account.number}/${props.order}`, body());
      setUnheard(false);
      toast(done.again ? `Already done, in entry ${done.sequence}.` : `Done: the balance is ${money(done.account?.balance, props.account)}.`);
      props.done();
      props.close();
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
      // What was refused was not done, and the next one is another order: unless nothing was heard of it before.
      if (problem instanceof Problem && problem.details.status >= 400 && problem.details.status < 500) {
        if (!unheard()) {
          key = newKey();
          setSure(false);
        }
      } else setUnheard(true);
    }
    setBusy(false);
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!isRight()) return;
    if (sure()) void send();
    else setSure(true);
  };
  const offer = () => props.account.offers.find((offer) => offer.name === allowance());
  return (
    <Dialog title={`${TITLES[props.order]}: account ${props.account.number}`} close={close}>
      <form class="stack" onSubmit={submit}>
        <Show
          when={!sure()}
          fallback={
            <p>
              <Show
                when={props.order === "buy"}
                fallback={
                  <>
                    Account {props.account.number} has {money(props.account.balance, props.account)}, and will have <b>{money(props.account.balance + (minor() ?? 0), props.account)}</b>. The ledger entry cannot be deleted; another adjustment can reverse it.
                  </>
                }
              >
                Account {props.account.number} gets <b>{allowance()}</b>: {units(offer()?.amount, offer()?.unit)}. Nothing is debited.
              </Show>
            </p>
          }
        >
          <Show
            when={props.order === "buy"}
            fallback={
              <>
                <label class="field">
                  <span>
                    Amount in {props.account.currency ?? "the currency"}
                    {props.order === "adjust" ? "; negative amounts debit" : ""}
                  </span>
                  <input class="input" inputmode="decimal" required autofocus value={amount()} aria-invalid={amount() !== "" && !isRight()} onInput={(event) => setAmount(event.currentTarget.value)} placeholder={props.order === "adjust" ? "-5.00" : "10.00"} />
                </label>
                <label class="field">
                  <span>Reason (recorded in the ledger with your name)</span>
                  <input class="input" maxlength={120} value={note()} onInput={(event) => setNote(event.currentTarget.value)} placeholder="voucher 4711" />
                </label>
              </>
            }
          >
            <label class="field">
              <span>Bundle</span>
              <select class="input" value={allowance()} onChange={(event) => setAllowance(event.currentTarget.value)}>
                <For each={props.account.offers}>
                  {(offer) => (
                    <option value={offer.name}>
                      {offer.name}: {units(offer.amount, offer.unit)}
                    </option>
                  )}
                </For>
              </select>
            </label>
          </Show>
        </Show>
        <Show when={error()}>
          <p class="bad-ink" role="alert">
            {error()} <Show when={unheard()}>The order may have been executed. Retrying from here is safe: it is never executed twice. Check the ledger before you place another order.</Show>
          </p>
        </Show>
        <footer class="row">
          <button type="button" class="button spread" disabled={busy()} onClick={() => (sure() && !unheard() ? setSure(false) : close())}>
            {unheard() ? "Close" : sure() ? "Back" : "Cancel"}
          </button>
          <button class="button primary" disabled={busy() || !isRight()}>
            {sure() ? (props.order === "buy" ? "Add the bundle" : "Confirm") : "Continue"}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
