// What is said where one signs in: why nobody was signed in by the identity provider, or how signing out ended.

import { createSignal } from "solid-js";

/** The words that the program puts into the address, with what they mean. */
const WORDS: Record<string, string> = {
  off: "Single sign-on is not configured.",
  "not-private": "Single sign-on needs https, or a browser on the server itself: over http others could steal your session.",
  unreachable: "The identity provider cannot be reached. Try again later, or sign in with name and password.",
  provider: "The identity provider's answer is not valid. Ask an administrator: the program's log has the reason.",
  refused: "The identity provider refused the sign-in. Try again, or ask an administrator: the program's log has the reason.",
  "not-begun": "The sign-in expired, was already used, or started in another browser or under another name of this server. Start again.",
  "no-role": "None of your groups has a role here. Ask an administrator for one.",
  forbidden: "Your account is locked. Ask an administrator.",
  conflict: "A local user with your name already exists. Ask an administrator.",
  "too-many": "Too many attempts from your address. Wait a few minutes.",
  busy: "Too many sign-ins at this moment. Try again.",
};
const OTHERWISE = "Single sign-on failed. The program's log has the reason.";
const PARAMETER = "sign-in";

/** The sentence for a word of the address; what is no word of ours is never shown as it is. */
export const sentence = (word: string): string => (Object.hasOwn(WORDS, word) ? WORDS[word]! : OTHERWISE);

/** Takes the word out of an address: what is to be said, and the address without it. */
export function taken(path: string, search: string, hash: string): { text: string; address: string } {
  const query = new URLSearchParams(search);
  const word = query.get(PARAMETER);
  if (word === null) return { text: "", address: path + search + hash };
  query.delete(PARAMETER);
  const rest = query.toString();
  return { text: sentence(word), address: path + (rest ? `?${rest}` : "") + hash };
}

const [said, say] = createSignal("");

export { said, say };

/** Before anything reads the address. */
export function listen(): void {
  const { text, address } = taken(location.pathname, location.search, location.hash);
  if (!text) return;
  history.replaceState(null, "", address);
  say(text);
}
