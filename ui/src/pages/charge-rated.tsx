// Rated calls: what calls of the store cost by the plans of who made them.

import { A, useNavigate, useParams, useSearchParams } from "@solidjs/router";
import { createSignal, Match, onMount, Show, Switch, type JSX } from "solid-js";
import { get } from "../api/client";
import type { ChargeNode, ChargeRating, ChargeRatings, ChargeStatus } from "../api/types";
import { of } from "../format";
import { ShareButton } from "../parts/copy";
import { Head } from "../parts/head";
import { Loading, Trouble } from "../parts/states";
import { Time } from "../parts/time";
import { ChargeNav, NoNode } from "./charge/nav";
import { RatedForm } from "./charge/rated-form";
import { RatedResult } from "./charge/rated-result";
import { byWhat, outcomeOf } from "./charge/rated-words";
import { Before, OneWork, useKept, useWork, type Work, type WorkWords } from "./charge/work";

const WORDS: WorkWords = {
  noun: "rating",
  again: "Rate again",
  begin: "/charge/rated",
  doing: "Rating",
  failed: "The rating failed",
  said: { running: "Rating calls.", done: "The rating is finished.", failed: "The rating failed.", cancelled: "The rating was cancelled." },
  far: ({ step, read }: Work): string => {
    switch (step) {
      case "payers":
        return "Reading subscribers and their plans from the ledger.";
      case "filter":
        return `Searching calls that match the filter: ${of(read, "call", "calls")} so far.`;
      case "calls":
        return `Reading calls: ${of(read, "call", "calls")} so far, including earlier calls that used up bundles.`;
      default:
        return "Waiting in the queue.";
    }
  },
};

export default function ChargeRatedPage(): JSX.Element {
  const params = useParams<{ id?: string }>();
  return (
    <Show when={params.id} keyed fallback={<Begin />}>
      {(id) => <One id={id} />}
    </Show>
  );
}

/** What is to be rated, and what was. */
function Begin(): JSX.Element {
  const navigate = useNavigate();
  const [search] = useSearchParams<{ again?: string }>();
  const [status, setStatus] = createSignal<ChargeStatus | null>();
  const kept = useKept(() => get<ChargeRatings>("/charge/ratings").then(({ ratings }) => ratings));
  const load = (): void => {
    kept.load();
    get<ChargeStatus>("/charge").then(setStatus, () => setStatus(null));
  };
  onMount(load);
  const node = (): ChargeNode | null => status()?.node ?? null;
  const before = (): ChargeRating | undefined => kept.all()?.find((one) => one.id === search.again);
  return (
    <>
      <Head title="Rated calls" />
      <ChargeNav />
      <div class="charge">
        <Switch fallback={<Loading what="ratings" />}>
          <Match when={kept.error() && !kept.all()}>
            <Trouble error={kept.error()} retry={load} />
          </Match>
          <Match when={kept.all() && status() !== undefined}>
            {/* Without a node its ledger may be there all the same: then the form says what it lacks. */}
            <Show when={status() && !node() && kept.all()!.length === 0}>
              <NoNode trouble={status()?.trouble} />
            </Show>
            {/* A form begins with what it is given: another one to be changed is another form. */}
            <Show when={before()?.id ?? "new"} keyed>
              {(_of) => <RatedForm before={before()} node={node()} begun={(id) => navigate(`/charge/rated/${id}`)} />}
            </Show>
            <Before kept={kept} path="/charge/ratings" name="Ratings" title="Previous ratings" what={(one) => <What one={one} />} came={(one) => (one.rated ? outcomeOf(one.rated) : "")} />
          </Match>
        </Switch>
      </div>
    </>
  );
}

function What(props: { one: ChargeRating }): JSX.Element {
  return (
    <>
      <A href={`/charge/rated/${props.one.id}`}>{byWhat(props.one.ask)}</A>
      <Show when={props.one.rated}>
        {(rated) => (
          <div class="muted charge-small">
            <Time at={rated().from} shape="short" /> to <Time at={rated().to} shape="short" />
          </div>
        )}
      </Show>
    </>
  );
}

/** A rating, while it runs and afterwards. */
function One(props: { id: string }): JSX.Element {
  const path = (): string => `/charge/ratings/${encodeURIComponent(props.id)}`;
  const followed = useWork<ChargeRating>(path);
  const one = followed.one;
  return (
    <>
      <Head title="Rated calls" about={<span class="muted">{one() && byWhat(one()!.ask)}</span>}>
        <Show when={one() && !followed.running()}>
          <A class="button" href={`/charge/rated?again=${props.id}`}>
            Change and rate again
          </A>
          <ShareButton title="Rated calls">Copy link</ShareButton>
        </Show>
        <A class="button" href="/charge/rated">
          New rating
        </A>
      </Head>
      <ChargeNav />
      <OneWork of={followed} path={path()} words={WORDS}>
        {(done) => <Show when={done.rated}>{(rated) => <RatedResult one={done} rated={rated()} />}</Show>}
      </OneWork>
    </>
  );
}
