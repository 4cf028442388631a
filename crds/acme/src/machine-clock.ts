/** The clock of the machine. */
import { setTimeout as sleep } from "node:timers/promises";
import type { AcmeClock } from "./types.ts";

export const machineClock: AcmeClock = {
  now: () => Date.now(),
  sleep: (milliseconds, signal) => sleep(milliseconds, undefined, { signal }),
};
