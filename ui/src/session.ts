// Who is signed in, and what they may do.

import { createSignal } from "solid-js";
import { get, post, remove, useCsrf, whenSignedOut } from "./api/client";
import { Problem } from "./api/problem";
import type { Session } from "./api/types";
import { say } from "./said";

const [session, setSession] = createSignal<Session | undefined>();

export { session };

/** Asks the program anew. */
export async function refreshSession(): Promise<Session> {
  return take(await get<Session>("/session"));
}

export async function signIn(name: string, password: string): Promise<Session> {
  return take(await post<Session>("/session", { name, password }));
}

/** Signs out. Where that could not be written, one is signed out all the same, and reads so. */
export async function signOut(): Promise<void> {
  try {
    await remove("/session");
  } catch (problem) {
    if (!(problem instanceof Problem) || problem.details["signed_out"] !== true) throw problem;
    say(problem.message);
  }
  await refreshSession();
}

/** Tells the program that somebody is there; finds out if the session is over. */
export async function hereIAm(): Promise<void> {
  if (!session()?.signed_in) return;
  const now = await get<Session>("/session");
  if (!now.signed_in) take(now);
}

export function take(next: Session): Session {
  useCsrf(next.csrf);
  setSession(next);
  return next;
}

/** Whether the one who is signed in may do this ("packets.download"). */
export const may = (what: string): boolean => session()?.may.includes(what) ?? false;

/** Whether no device and no graph is hidden from them: rules and channels of alerts are of all. */
export const seesAllGraphs = (): boolean => session()?.all_graphs ?? false;

/** Whether they may keep alerts back for a time: those of one device, where some are hidden from them. */
export const mayKeepBack = (): boolean => may("alerts.operate");

whenSignedOut(() => {
  const now = session();
  if (now?.signed_in) take({ ...now, signed_in: false, user: null, csrf: null, may: [] });
});
