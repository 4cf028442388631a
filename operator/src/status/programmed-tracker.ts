/**
 * Tracks in which revision each resource was published, so that Programmed follows from the nodes' acknowledgements.
 * Once Programmed is true for a generation, it stays true: a node that joins or restarts gets the document before it
 * becomes ready, and must not cause a status write for every resource.
 */
import type { Resource } from "@sluice/crds";
import { obstaclesOf, type Problem } from "./conditions.ts";

interface Entry {
  readonly uid: string | undefined;
  readonly generation: number | undefined;
  /** The problems, serialized; empty when there are none. */
  readonly faults: string;
  readonly revision: number;
  readonly since: number;
  programmed: boolean;
}

export interface PublishedAt {
  readonly revision: number;
  /**
   * Whether this is the first document that this process publishes. If so, `Programmed` in the resources' statuses is
   * trusted.
   */
  readonly isFirst: boolean;
}

/** Milliseconds of waiting for nodes before Programmed becomes Unknown: shorter waits are not worth a status write. */
export const PENDING_GRACE = 1000;

const hasProgrammedCondition = ({ metadata, status }: Resource): boolean =>
  status?.conditions?.some(
    ({ type, status: is, observedGeneration }) =>
      type === "Programmed" && is === "True" && observedGeneration === metadata.generation,
  ) ?? false;

export function createProgrammedTracker(now: () => number = () => performance.now()) {
  const entries = new Map<string, Entry>();
  return {
    /**
     * Records that the document of this revision contains this version of the resource. Returns false when the same
     * version with the same problems was recorded last.
     */
    recordPublished(key: string, resource: Resource, problems: readonly Problem[], { revision, isFirst }: PublishedAt) {
      const { uid, generation } = resource.metadata;
      const faults = problems.length === 0 ? "" : JSON.stringify(problems);
      const before = entries.get(key);
      if (before?.uid === uid && before?.generation === generation && before?.faults === faults) return false;
      // After a restart, the resource's own status shows whether it was acknowledged. After the first document, the
      // status is not evidence: a resource that reappears, for example with its namespace, may have been served before
      // but not now.
      const programmed = isFirst && obstaclesOf(problems).length === 0 && hasProgrammedCondition(resource);
      entries.set(key, { uid, generation, faults, revision, since: now(), programmed });
      return true;
    },
    forget: (key: string) => void entries.delete(key),
    /**
     * Whether the resource is programmed, and `waitingFor` as the message if not. Undefined while it is too early to
     * report waiting, or when the resource is not tracked.
     */
    progress(key: string, acknowledged: number, waitingFor: string) {
      const entry = entries.get(key);
      if (!entry) return undefined;
      if (!entry.programmed && acknowledged >= entry.revision && acknowledged > 0) entry.programmed = true;
      if (entry.programmed) return { programmed: true, message: "" };
      return now() - entry.since < PENDING_GRACE ? undefined : { programmed: false, message: waitingFor };
    },
  };
}

export type ProgrammedTracker = ReturnType<typeof createProgrammedTracker>;
