/**
 * Remembers with which revision each resource became part of what is published, so that "Programmed" can be told from
 * the nodes' acknowledgements. Once true for a generation it stays true: a node that joins or restarts gets the
 * document before it becomes ready, and must not cause a write to every resource.
 */
import type { Resource } from "@sluice/crds";
import type { Problem, ProgrammedState } from "./conditions.ts";

interface Entry {
  readonly uid: string | undefined;
  readonly generation: number | undefined;
  /** The problems as one text; empty when there are none. */
  readonly faults: string;
  readonly revision: number;
  readonly since: number;
  programmed: boolean;
}

export interface PublishedAt {
  readonly revision: number;
  /** Whether this process publishes for the first time: what was acknowledged before it was. */
  readonly isFirst: boolean;
}

export interface ProgrammedTracker {
  /** The published document of this revision contains the resource as it stands. True when that is news. */
  recordPublished(key: string, resource: Resource, problems: readonly Problem[], place: PublishedAt): boolean;
  forget(key: string): void;
  /** How far the resource is; undefined while it is too early to speak of waiting. */
  progress(key: string, acknowledged: number, waitingFor: string): ProgrammedState | undefined;
}

/** Milliseconds of waiting for nodes that are not worth a write of status. */
export const PENDING_GRACE = 1000;

const hasProgrammedCondition = ({ metadata, status }: Resource): boolean =>
  status?.conditions?.some(
    ({ type, status: is, observedGeneration }) =>
      type === "Programmed" && is === "True" && observedGeneration === metadata.generation,
  ) ?? false;

const textOf = (problems: readonly Problem[]): string => (problems.length === 0 ? "" : JSON.stringify(problems));

export function createProgrammedTracker(now: () => number = () => performance.now()): ProgrammedTracker {
  const entries = new Map<string, Entry>();
  return {
    recordPublished(key, resource, problems, { revision, isFirst }) {
      const { uid, generation } = resource.metadata;
      const faults = textOf(problems);
      const before = entries.get(key);
      if (before?.uid === uid && before?.generation === generation && before?.faults === faults) return false;
      // After a restart of ours the resource itself tells what was acknowledged before. What comes later, with its
      // namespace for example, may tell of what the nodes served once and do not any more.
      const programmed = isFirst && faults === "" && hasProgrammedCondition(resource);
      entries.set(key, { uid, generation, faults, revision, since: now(), programmed });
      return true;
    },
    forget: (key) => void entries.delete(key),
    progress(key, acknowledged, waitingFor) {
      const entry = entries.get(key);
      if (!entry) return undefined;
      if (!entry.programmed && acknowledged >= entry.revision && acknowledged > 0) entry.programmed = true;
      if (entry.programmed) return { programmed: true, message: "" };
      return now() - entry.since < PENDING_GRACE ? undefined : { programmed: false, message: waitingFor };
    },
  };
}
