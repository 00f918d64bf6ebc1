// Whether somebody is there. A page that is left open asks on and on by itself: that must not keep a session alive for
// ever, so what nobody asked for says so, and does not count as use.

/** What is asked for later than this after somebody did something was asked by the page itself. */
export const ACT_MS = 30_000;
/** Whoever does something while nothing counted was asked for so long is told to the program. */
export const TELL_MS = 30_000;
/** The header of what the page asks by itself. */
export const BACKGROUND = "X-Trunkline-Background";

/** What somebody does on a page. Moving a mouse is not among it: a shaken table is nobody. */
const ACTS = ["pointerdown", "keydown", "wheel", "touchmove"] as const;

export class Presence {
  #acted: number;
  #told: number;

  /** Somebody has just opened the page. */
  constructor(now: number) {
    this.#acted = now;
    this.#told = now;
  }

  /** Somebody does something; whether the program has to be told, because nothing else tells it. */
  act(now: number): boolean {
    this.#acted = now;
    if (now - this.#told < TELL_MS) return false;
    this.#told = now;
    return true;
  }

  /** Whether what is asked now is asked by somebody; then the program knows that they are there. */
  asks(now: number): boolean {
    if (now - this.#acted >= ACT_MS) return false;
    this.#told = now;
    return true;
  }
}

export const presence = new Presence(Date.now());

/** Looks for somebody from now on; `tell` asks the program for anything. */
export function watchPresence(tell: () => void): void {
  const act = (): void => {
    if (presence.act(Date.now())) tell();
  };
  for (const name of ACTS) document.addEventListener(name, act, { capture: true, passive: true });
}
