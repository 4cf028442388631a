/** The warnings of `sluice status`: the configuration is served, but clients may see errors. */
import type { AdminConnection } from "./admin-connection.ts";
import { readEntities } from "./entity-tables.ts";
import { readTargets } from "./target-health.ts";

export interface StatusWarning {
  /** `certificate of shop.example` or `target 10.0.0.1:80 of stock`. */
  readonly subject: string;
  readonly message: string;
}

/** Seconds before its expiry at which a certificate is reported, as in the console. */
const EXPIRES_SOON = 14 * 24 * 3600;

/** Upstreams that are asked for: the admin API asks every node about each. */
const MAX_UPSTREAMS = 50;

export async function readWarnings(admin: AdminConnection, now: number): Promise<readonly StatusWarning[]> {
  return [
    ...certificateWarnings((await admin.readText("/metrics")) ?? "", now / 1000),
    ...(await targetWarnings(admin)),
  ];
}

const EXPIRY = /^sluice_certificate_expiry_timestamp_seconds\{.*server_name="([^"]*)"\} (\S+)$/gm;

/** @param now Unix seconds */
export function certificateWarnings(metrics: string, now: number): readonly StatusWarning[] {
  // Every node has the same certificates.
  const expiries = new Map([...metrics.matchAll(EXPIRY)].map(([, name = "", expiry]) => [name, Number(expiry)]));
  return [...expiries].flatMap(([name, expiry]) => {
    if (expiry - now > EXPIRES_SOON) return [];
    const message = `${expiry <= now ? "expired" : "expires"} at ${new Date(expiry * 1000).toISOString()}`;
    return [{ subject: `certificate of ${name}`, message }];
  });
}

const targetMessages: Readonly<Record<string, string>> = {
  UNHEALTHY: "is unhealthy on at least one node, which sends it no requests",
  DNS_ERROR: "has a name that a node cannot resolve",
};

async function targetWarnings(admin: AdminConnection): Promise<readonly StatusWarning[]> {
  const warnings: StatusWarning[] = [];
  for (const { id, name } of (await readEntities(admin, "upstreams")).slice(0, MAX_UPSTREAMS)) {
    for (const { target, health, refusal } of await readTargets(admin, id)) {
      const message = refusal === null ? targetMessages[health] : `is refused: ${refusal}`;
      if (message !== undefined) warnings.push({ subject: `target ${target} of ${name}`, message });
    }
  }
  return warnings;
}
