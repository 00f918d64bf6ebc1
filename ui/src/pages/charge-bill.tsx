// Reconciliation: captured calls against a carrier's bill, or against online charges.

import { A, useNavigate, useParams, useSearchParams } from "@solidjs/router";
import { createSignal, Match, onMount, Show, Switch, type JSX } from "solid-js";
import { get } from "../api/client";
import type { ChargeComparison, ChargeComparisons, ChargeNode, ChargeStatus } from "../api/types";
import { of } from "../format";
import { ShareButton } from "../parts/copy";
import { Head } from "../parts/head";
import { Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { BillForm } from "./charge/bill-form";
import { BillResult } from "./charge/bill-result";
import { outcomeOf } from "./charge/bill-words";
import { ChargeNav } from "./charge/nav";
import { Before, OneWork, useKept, useWork, type Work, type WorkWords } from "./charge/work";

const WORDS: WorkWords = {
  noun: "comparison",
  again: "Compare again",
  begin: "/charge/bill",
  doing: "Comparing",
  failed: "The comparison failed",
  said: { running: "Comparing calls.", done: "The comparison is finished.", failed: "The comparison failed.", cancelled: "The comparison was cancelled." },
  far: ({ step, read }: Work): string => {
    switch (step) {
      case "bill":
        return `Reading the bill: ${of(read, "line", "lines")} so far.`;
      case "charges":
        return `Reading charged sessions: ${of(read, "session", "sessions")} so far.`;
      case "payers":
        return "Reading subscribers from the ledger.";
      case "filter":
        return `Searching calls that match the filter: ${of(read, "call", "calls")} so far.`;
      case "calls":
        return `Reading calls: ${of(read, "call", "calls")} so far.`;
      case "captured":
        return "Checking which times were captured.";
      case "pairs":
        return `Matching ${of(read, "call", "calls")} with lines.`;
      case "lists":
        return "Listing the differences.";
      default:
        return "Waiting in the queue.";
    }
  },
};

export default function ChargeBillPage(): JSX.Element {
  const params = useParams<{ id?: string }>();
  return (
    <Show when={params.id} keyed fallback={<Begin />}>
      {(id) => <One id={id} />}
    </Show>
  );
}

/** What is compared, in words. */
function Title(props: { of: ChargeComparison }): JSX.Element {
  return <>{props.of.ask.bill ? (props.of.bill_name ?? "a bill") : "Online charges"}</>;
}

/** What is to be compared, and what was. */
function Begin(): JSX.Element {
  const navigate = useNavigate();
  const [search] = useSearchParams<{ again?: string }>();
  const [node, setNode] = createSignal<ChargeNode | null>();
  const kept = useKept(() => get<ChargeComparisons>("/charge/comparisons").then(({ comparisons }) => comparisons));
  onMount(() => {
    kept.load();
    get<ChargeStatus>("/charge").then(
      (status) => setNode(status.node),
      () => setNode(null),
    );
  });
  const before = (): ChargeComparison | undefined => kept.all()?.find((one) => one.id === search.again);
  return (
    <>
      <Head title="Reconciliation" />
      <ChargeNav />
      <div class="charge">
        <Switch fallback={<Loading what="comparisons" />}>
          <Match when={kept.error() && !kept.all()}>
            <Trouble error={kept.error()} retry={kept.load} />
          </Match>
          <Match when={kept.all() && node() !== undefined}>
            {/* A form begins with what it is given: another one to be changed is another form. */}
            <Show when={before()?.id ?? "new"} keyed>
              {(_of) => <BillForm before={before()} node={node() ?? null} begun={(id) => navigate(`/charge/bill/${id}`)} />}
            </Show>
            <Before kept={kept} path="/charge/comparisons" name="Comparisons" title="Previous comparisons" what={(one) => <What one={one} />} came={(one) => (one.compared ? outcomeOf(one.compared) : "")} />
          </Match>
        </Switch>
      </div>
    </>
  );
}

function What(props: { one: ChargeComparison }): JSX.Element {
  return (
    <>
      <A href={`/charge/bill/${props.one.id}`}>
        <Title of={props.one} />
      </A>
      <Show when={props.one.compared}>
        {(compared) => (
          <div class="muted charge-small">
            <Time at={compared().from} shape="short" /> to <Time at={compared().to} shape="short" />
          </div>
        )}
      </Show>
    </>
  );
}

/** A comparison, while it runs and afterwards. */
function One(props: { id: string }): JSX.Element {
  const path = (): string => `/charge/comparisons/${encodeURIComponent(props.id)}`;
  const followed = useWork<ChargeComparison>(path);
  const one = followed.one;
  return (
    <>
      <Head title="Reconciliation" about={<span class="muted">{one() && <Title of={one()!} />}</span>}>
        <Show when={one() && !followed.running()}>
          <A class="button" href={`/charge/bill?again=${props.id}`}>
            Change and compare again
          </A>
          <ShareButton title="Reconciliation">Copy link</ShareButton>
        </Show>
        <A class="button" href="/charge/bill">
          New comparison
        </A>
      </Head>
      <ChargeNav />
      <OneWork of={followed} path={path()} words={WORDS}>
        {(done) => <Show when={done.compared}>{(compared) => <BillResult one={done} compared={compared()} />}</Show>}
      </OneWork>
    </>
  );
}
