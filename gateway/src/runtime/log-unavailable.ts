/** Logs what a document closes: clients are told only that it is unavailable. */
import { differences, type Snapshot } from "@sluice/model/serving";

interface Log {
  warn(details: object, message: string): void;
}

/** Lines for one document; the rest is counted. */
const MAX_LINES = 20;

/** Routes and plugins that answer 503 from now on, or for another reason than before. */
export function logUnavailable(log: Log, before: Snapshot, now: Snapshot): void {
  let count = 0;
  for (const kind of ["routes", "plugins"] as const)
    for (const { before: was, after } of differences<Entity>(before[kind], now[kind])) {
      const reason = after?._sluice?.unavailable;
      if (after === undefined || reason === undefined || after.enabled === false) continue;
      if (reason === was?._sluice?.unavailable && was.enabled === after.enabled) continue;
      count++;
      const member = kind === "routes" ? "route" : "plugin";
      if (count <= MAX_LINES) log.warn({ [member]: after.id, name: after.name }, `answers 503: ${reason}`);
    }
  if (count > MAX_LINES) log.warn({ more: count - MAX_LINES }, "more routes and plugins answer 503");
}

interface Entity {
  readonly id: string;
  readonly name: string | null;
  readonly enabled?: boolean;
  readonly _sluice?: { readonly unavailable?: string };
}
