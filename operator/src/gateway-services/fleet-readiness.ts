/** Whether all nodes of a fleet serve the listeners of a Gateway, so that its Service may lead to them. */
import { isDeepStrictEqual } from "node:util";
import { allListeners, type DerivedGateway, type Resource, resourceKey } from "@sluice/crds";
import { type DocumentListener, SHARED_FLEET } from "@sluice/model";
import type { TranslateStage } from "../document/translate-stage.ts";
import type { Publisher } from "../publish/publisher.ts";

export interface FleetReadinessOptions {
  readonly translate: Pick<TranslateStage, "isUpToDate">;
  readonly publisher: Pick<Publisher, "revision" | "acknowledgement" | "failedListeners">;
}

interface ReachedRevision {
  readonly fleet: string;
  readonly listeners: readonly DocumentListener[];
  readonly revision: number;
}

export function createFleetReadiness({ translate, publisher }: FleetReadinessOptions) {
  /** The revision that has the present listeners of a Gateway (`namespace/name`), for the fleet to which it moves. */
  const reached = new Map<string, ReachedRevision>();

  function revisionOf(key: string, fleet: string, listeners: readonly DocumentListener[]): number | undefined {
    const known = reached.get(key);
    if (known?.fleet === fleet && isDeepStrictEqual(known.listeners, listeners)) return known.revision;
    reached.delete(key);
    if (!translate.isUpToDate()) return undefined;
    const revision = publisher.revision();
    reached.set(key, { fleet, listeners, revision });
    return revision;
  }

  return {
    isServedBy(derived: DerivedGateway, fleet: string): boolean {
      const listeners = allListeners(derived).flatMap(({ served }) => served ?? []);
      if (!listeners.every(({ fleets = [SHARED_FLEET] }) => fleets.includes(fleet))) return false;
      const revision = revisionOf(resourceKey(derived.gateway), fleet, listeners);
      if (revision === undefined) return false;
      const { programmed, acknowledged } = publisher.acknowledgement(revision, [fleet]);
      const failed = publisher.failedListeners();
      return (
        programmed &&
        !listeners.some(({ name }) => failed.get(name)?.some(({ address }) => acknowledged.includes(address)))
      );
    },
    /** Called when the Gateway (`namespace/name`) does not move. */
    forget: (key: string) => void reached.delete(key),
  };
}

interface DeploymentStatus {
  readonly observedGeneration?: number;
  readonly availableReplicas?: number;
}

/**
 * Whether enough pods of a Deployment are ready to take over all requests: as many as it asks for, or those that have
 * started when its controller gives up waiting for the others.
 */
export function isAvailable({ metadata, status = {} }: Resource): boolean {
  const { observedGeneration, availableReplicas = 0 } = status as DeploymentStatus;
  const has = (type: string, value: string) =>
    (status.conditions ?? []).some((condition) => condition.type === type && condition.status === value);
  if (observedGeneration !== metadata.generation || availableReplicas === 0) return false;
  return has("Available", "True") || has("Progressing", "False");
}
