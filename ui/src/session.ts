// Who is signed in, and what they may do.

import { createSignal } from "solid-js";
import { get, post, remove, useCsrf, whenSignedOut } from "./api/client";
import type { Session } from "./api/types";

const [session, setSession] = createSignal<Session | undefined>();

export { session };

/** Asks the program anew. */
export async function refreshSession(): Promise<Session> {
  return take(await get<Session>("/session"));
}

export async function signIn(name: string, password: string): Promise<Session> {
  return take(await post<Session>("/session", { name, password }));
}

export async function signOut(): Promise<void> {
  await remove("/session");
  await refreshSession();
}

export function take(next: Session): Session {
  useCsrf(next.csrf);
  setSession(next);
  return next;
}

/** Whether the one who is signed in may do this ("packets.download"). */
export const may = (what: string): boolean => session()?.may.includes(what) ?? false;

whenSignedOut(() => {
  const now = session();
  if (now?.signed_in) take({ ...now, signed_in: false, user: null, csrf: null, may: [] });
});
