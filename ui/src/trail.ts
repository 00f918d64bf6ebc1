// The list a call was opened from: so that its page can go on to the next one. Lives as long as the tab.

const KEY = "trunkline.trail";

/** Calls remembered at most; of longer lists those around the opened one. */
export const TRAIL_MAX = 1000;

export interface Trail {
  /** Address of the list: "/calls?filter=..." */
  back: string;
  /** IDs in the order of the list. */
  ids: string[];
}

/** Called by a list when one of its calls is opened. */
export function keepTrail(trail: Trail, opened?: string): void {
  const at = Math.max(0, trail.ids.indexOf(opened ?? ""));
  const start = Math.max(0, Math.min(at - TRAIL_MAX / 2, trail.ids.length - TRAIL_MAX));
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ ...trail, ids: trail.ids.slice(start, start + TRAIL_MAX) }));
  } catch {
    // Without storage one goes back to the list by hand.
  }
}

export interface Neighbours {
  back: string;
  position: number;
  total: number;
  previous: string | undefined;
  next: string | undefined;
}

/** Where a call stands in the list it was opened from; none if it was reached by a link. */
export function neighbours(id: string): Neighbours | undefined {
  const trail = load();
  const at = trail?.ids.indexOf(id) ?? -1;
  if (!trail || at < 0) return undefined;
  return { back: trail.back, position: at + 1, total: trail.ids.length, previous: trail.ids[at - 1], next: trail.ids[at + 1] };
}

function load(): Trail | undefined {
  try {
    const trail = JSON.parse(sessionStorage.getItem(KEY) ?? "null") as Trail | null;
    return trail && Array.isArray(trail.ids) && trail.back.startsWith("/") ? trail : undefined;
  } catch {
    return undefined;
  }
}
