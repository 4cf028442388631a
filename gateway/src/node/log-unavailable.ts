/** Logs the routes and plugins that a document makes unavailable. Clients get no reason. */
import { differences, type Snapshot } from "@sluice/model/serving";

interface Log {
  warn(details: object, message: string): void;
}

/** Maximum lines per document; further lines are only counted. */
const MAX_LINES = 20;

/** Logs routes and plugins that newly answer 503, or do so for a new reason. */
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
