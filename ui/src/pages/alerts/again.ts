// When pages of alerts ask again: when anything has changed, which the live feed tells, and for values every few
// seconds as long as the program is heard of.

import { createEffect, on } from "solid-js";
import { alerts, beat } from "../../live";

const VALUES_MS = 5_000;

export function useAlertsAgain(run: () => void): void {
  let asked = Date.now();
  const again = (): void => {
    asked = Date.now();
    run();
  };
  createEffect(on([() => alerts()?.revision, () => alerts()?.serving], again, { defer: true }));
  createEffect(on(beat, () => void (!document.hidden && Date.now() - asked >= VALUES_MS && again()), { defer: true }));
}
