/** Logs the routes, plugins and credentials that a document makes unavailable. Clients get no reason. */
import { bucketDifferences, type Snapshot } from "@sluice/model/serving";
import { NO_FLEET } from "../settings/peers.ts";
import { newlyMissingDocuments } from "./newly-missing-documents.ts";

export interface UnavailableLog {
  readonly log: { warn(details: object, message: string): void };
  /** Whether the node listens for the other nodes of its fleet, as limits with policy fleet need. */
  readonly hasPeers: boolean;
}

/** Maximum lines per document; further lines are only counted. */
const MAX_LINES = 20;

const effects = {
  routes: { member: "route", effect: "answers 503" },
  plugins: { member: "plugin", effect: "answers 503" },
  plugin_credentials: { member: "credential", effect: "grants no access" },
} as const;

/**
 * Logs routes and plugins that newly answer 503, also because documents that they name are missing, and credentials of
 * plugins that newly grant no access.
 */
export function logUnavailable({ log, hasPeers }: UnavailableLog, previous: Snapshot, now: Snapshot): void {
  let count = 0;
  for (const kind of ["routes", "plugins", "plugin_credentials"] as const)
    for (const { before: was, after } of bucketDifferences<Entity>(previous[kind], now[kind])) {
      const reason = after?._sluice?.unavailable ?? (hasPeers ? undefined : missingPeers(after));
      if (after === undefined || reason === undefined || after.enabled === false) continue;
      const before = was?._sluice?.unavailable ?? (hasPeers ? undefined : missingPeers(was));
      if (reason === before && was?.enabled === after.enabled) continue;
      count++;
      const { member, effect } = effects[kind];
      // Not `name`, which is the name of the process in each line of the log.
      const name = after.name === undefined ? {} : { [`${member}Name`]: after.name };
      if (count <= MAX_LINES) log.warn({ [member]: after.id, ...name }, `${effect}: ${reason}`);
    }
  for (const { plugin, text } of newlyMissingDocuments(previous, now)) {
    count++;
    if (count <= MAX_LINES) log.warn({ plugin }, text);
  }
  if (count > MAX_LINES) log.warn({ more: count - MAX_LINES }, "more routes, plugins and credentials are unavailable");
}

/** The plugins with a policy fleet. */
const counting: readonly (string | null | undefined)[] = ["rate-limiting", "response-ratelimiting"];

const missingPeers = (entity: Entity | undefined): string | undefined =>
  counting.includes(entity?.name) && entity?.config?.policy === "fleet" ? NO_FLEET : undefined;

interface Entity {
  readonly id: string;
  readonly name?: string | null;
  readonly enabled?: boolean;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly _sluice?: { readonly unavailable?: string };
}
