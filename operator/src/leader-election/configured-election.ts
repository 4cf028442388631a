/**
 * The leader election that the settings ask for: by a Lease in a cluster; none for a directory, whose single operator
 * leads.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { createLeaseStore, READS_ANNOTATION } from "@sluice/crds";
import { CLASS_LABEL } from "@sluice/model";
import type { Logger } from "pino";
import { abortableDelay } from "../abortable-delay.ts";
import type { OperatorSettings } from "../settings.ts";
import { leaseTiming, ownObjectName, readsAllNamespaces } from "../start-checks.ts";
import { type StartLeaderElection, soleLeader } from "./leader-election.ts";
import { leaseElection } from "./lease-election.ts";

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
    clock: { now: () => performance.now(), sleep: abortableDelay },
  });
}
