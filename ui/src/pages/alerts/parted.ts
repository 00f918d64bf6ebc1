// What is bad, in the three parts that head, headings and lists of the page count: open, kept back, may come.

import type { Alert, AlertPending, AlertsPending, AlertStatus } from "../../api/types";
import { of, whole } from "../../format";
import type { Search } from "./asked";

/** An alert that is open for people: nothing keeps it back. */
export const isKeptBack = (alert: Pick<Alert, "state">): boolean => alert.state === "suppressed";

export interface Parted {
  /** Kept back before it was an alert. */
  kept: AlertPending[];
  /** Bad, not for long enough yet. */
  coming: AlertPending[];
}

export const parted = (pending: readonly AlertPending[]): Parted => ({
  kept: pending.filter((one) => one.standing === "suppressed"),
  coming: pending.filter((one) => one.standing !== "suppressed"),
});

/** Those of a search: what is no alert yet is taken care of by nobody. */
export function searched(pending: readonly AlertPending[], search: Partial<Search>): AlertPending[] {
  const words = (search.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const text = (one: AlertPending): string => [one.rule, one.subject, one.device, ...Object.values(one.labels)].join(" ").toLowerCase();
  return pending.filter(
    (one) =>
      (search.severity === undefined || one.severity === search.severity) &&
      (search.state === undefined || (search.state === "suppressed" && one.standing === "suppressed")) &&
      (search.rule === undefined || one.rule === search.rule) &&
      (search.device === undefined || one.device === search.device) &&
      search.taken !== "yes" &&
      words.every((word) => text(one).includes(word)),
  );
}

export interface Counts {
  open: number;
  /** Undefined where there are more than are listed, so that nobody knows how they part. */
  kept: number | undefined;
  coming: number | undefined;
}

/** How many there are of each part, whatever is searched for. */
export function countsOf(summary: NonNullable<AlertStatus["summary"]>, pending: AlertsPending | undefined): Counts {
  if (!pending || pending.total > pending.pending.length) return { open: summary.open, kept: undefined, coming: undefined };
  const { kept, coming } = parted(pending.pending);
  return { open: summary.open, kept: summary.kept_back + kept.length, coming: coming.length };
}

/** "3 open (2 critical, 1 taken care of), 4 kept back, 1 may come" */
export function aboutAlerts(summary: NonNullable<AlertStatus["summary"]>, pending: AlertsPending | undefined): string {
  const { open, kept, coming } = countsOf(summary, pending);
  const those = [summary.critical > 0 ? `${whole(summary.critical)} critical` : "", summary.acknowledged > 0 ? `${whole(summary.acknowledged)} acknowledged` : ""].filter(Boolean).join(", ");
  const rest = summary.kept_back + summary.pending;
  const behind = kept === undefined || coming === undefined ? [rest > 0 ? `${whole(rest)} suppressed or pending` : ""] : [kept > 0 ? `${whole(kept)} suppressed` : "", coming > 0 ? `${whole(coming)} pending` : ""];
  return [`${of(open, "open", "open")}${those && ` (${those})`}`, ...behind].filter(Boolean).join(", ");
}

/** "3", or of a search "1 of 3". */
export const counted = (shown: number, all: number | undefined): string => (all === undefined || shown >= all ? whole(shown) : `${whole(shown)} of ${whole(all)}`);
