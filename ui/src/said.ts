// What is said where one signs in: why nobody was signed in by the identity provider, or how signing out ended.

import { createSignal } from "solid-js";

/** The words that the program puts into the address, with what they mean. */
const WORDS: Record<string, string> = {
  off: "Signing in through an identity provider is not set up here.",
  "not-private": "Sign in by https, or on the machine itself: here anybody on the way could take your session.",
  unreachable: "The identity provider cannot be reached. Try again in a while, or sign in by name and password.",
  provider: "The identity provider's answer does not hold. Tell an administrator: the log of the program says what is wrong with it.",
  refused: "The identity provider did not let you in. Try again, or tell an administrator: the log of the program says what it said.",
  "not-begun": "That sign-in took too long, was used already, or began in another browser or by another name of this server. Begin again.",
  "no-role": "The identity provider knows you, but none of your groups has a role here. Ask an administrator for one.",
  forbidden: "An administrator locked your account.",
  conflict: "There is a user of your name already who does not come through the identity provider. Ask an administrator.",
  "too-many": "Too many attempts from your address. Wait some minutes.",
  busy: "Too many are signing in at this moment. Try again.",
};
const OTHERWISE = "Signing in through the identity provider failed. The log of the program says why.";
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
