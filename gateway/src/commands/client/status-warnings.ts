/** The warnings of `sluice status`: the configuration is served, but clients may see errors. */
import type { AdminConnection } from "./admin-connection.ts";
import { readEntities } from "./entity-tables.ts";
import { readTargets } from "./target-health.ts";

export interface StatusWarning {
  /** `certificate of SNI shop.example` or `target 10.0.0.1:80 of stock`. */
  readonly subject: string;
  readonly message: string;
}

/** Maximum number of upstreams whose targets are read: for each, the admin API asks every node. */
const MAX_UPSTREAMS = 50;

const targetMessages: Readonly<Record<string, string>> = {
  UNHEALTHY: "is unhealthy on at least one node, which sends it no requests",
  DNS_ERROR: "has a name that a node cannot resolve",
};

/** Targets to which at least one node sends no requests. */
export async function targetWarnings(admin: AdminConnection): Promise<readonly StatusWarning[]> {
  const warnings: StatusWarning[] = [];
  for (const { id, name } of (await readEntities(admin, "upstreams")).slice(0, MAX_UPSTREAMS)) {
    for (const { target, health, refusal } of await readTargets(admin, id)) {
      const message = refusal === null ? targetMessages[health] : `is refused: ${refusal}`;
      if (message !== undefined) warnings.push({ subject: `target ${target} of ${name}`, message });
    }
  }
  return warnings;
}
