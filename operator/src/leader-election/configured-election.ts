/**
 * The leader election that the settings ask for: by a Lease in a cluster; none for a directory, whose single operator
 * leads.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { createLeaseStore, READS_ANNOTATION } from "@sluice/crds";
import { CLASS_LABEL } from "@sluice/model";
import type { Logger } from "pino";
import type { OperatorSettings } from "../settings.ts";
import { leaseTiming, ownObjectName, readsAllNamespaces } from "../start-checks.ts";
import { type StartLeaderElection, soleLeader } from "./leader-election.ts";
import { type ElectionClock, leaseElection } from "./lease-election.ts";

const monotonicClock: ElectionClock = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) => sleep(milliseconds, undefined, { signal }).catch(() => undefined),
};

/** @throws SettingsError, KubeconfigError */
export function configuredElection(settings: OperatorSettings, log: Logger): StartLeaderElection {
  if (settings.directory !== null) return soleLeader;
  return leaseElection({
    store: createLeaseStore({
      namespace: settings.homeNamespace,
      name: ownObjectName(settings),
      marks: {
        labels: { [CLASS_LABEL]: settings.class },
        annotations: { [READS_ANNOTATION]: readsAllNamespaces(settings) ? "all" : "some" },
      },
    }),
    identity: settings.identity ?? `${hostname()}_${randomUUID()}`,
    timing: leaseTiming(settings),
    log,
    clock: monotonicClock,
  });
}
