// What the palette offers for what was typed: pages, a call by number or Call-ID, appearance, the zone of times.

import type { IconName } from "./icon";

export interface Choice {
  icon: IconName;
  name: string;
  /** In small beside it. */
  about?: string;
  does: { go: string } | { theme: "system" | "light" | "dark" } | { zone: string };
}

export interface Known {
  pages: { name: string; path: string; icon: IconName; key?: string }[];
  zones: () => string[];
  /** Whether numbers may be searched by a part of them. */
  mayPart: boolean;
}

/** More than this many are not read. */
export const CHOICES_MAX = 12;
/** Fewer letters than this fit most of the 400 zones. */
const ZONE_LETTERS_MIN = 3;
/** Whoever types fewer digits is still typing. */
const DIGITS_MIN = 3;

export function choicesFor(typed: string, known: Known): Choice[] {
  const text = typed.trim();
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (choice: Choice): boolean => words.every((word) => `${choice.name} ${choice.about ?? ""}`.toLowerCase().includes(word));
  const fixed = [...known.pages.map(ofPage), ...APPEARANCE].filter(fits);
  const zones = text.length < ZONE_LETTERS_MIN ? [] : known.zones().map(ofZone).filter(fits);
  return [...callsOf(text, known.mayPart), ...fixed, ...zones].slice(0, CHOICES_MAX);
}

const ofPage = (page: Known["pages"][number]): Choice => ({
  icon: page.icon,
  name: `Go to ${page.name}`,
  ...(page.key ? { about: `g ${page.key}` } : {}),
  does: { go: page.path },
});

const ofZone = (zone: string): Choice => ({ icon: "clock", name: `Times in ${zone}`, does: { zone } });

const APPEARANCE: Choice[] = [
  { icon: "sun", name: "Light theme", about: "appearance", does: { theme: "light" } },
  { icon: "sun", name: "Dark theme", about: "appearance", does: { theme: "dark" } },
  { icon: "sun", name: "System theme", about: "appearance", does: { theme: "system" } },
  { icon: "clock", name: "Times in UTC", about: "zone", does: { zone: "UTC" } },
  { icon: "clock", name: "Times in the browser's time zone", about: "zone", does: { zone: "browser" } },
];

/** Digits are a number; a word with an @ or a long one without spaces may be a Call-ID or the identity of a call. */
function callsOf(text: string, mayPart: boolean): Choice[] {
  const number = text.replace(/[\s().-]/g, "");
  if (/^\+?[0-9*#]+$/.test(number) && number.length >= DIGITS_MIN) {
    const pattern = mayPart && !number.startsWith("+") ? `*${number}*` : number;
    return [{ icon: "phone", name: `Calls of ${number}`, does: { go: `/calls?filter=${encodeURIComponent(`number:${quoted(pattern)}`)}` } }];
  }
  if (/^\S*@\S+$/.test(text) || /^[0-9a-f-]{8,}$/i.test(text)) {
    return [{ icon: "call", name: "Open the call", about: text, does: { go: `/calls/${encodeURIComponent(text)}` } }];
  }
  return [];
}

const quoted = (text: string): string => `"${text}"`;
