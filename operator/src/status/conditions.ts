/** From a resource's problems and the nodes' acknowledgements to its conditions. Pure. */
import type { Condition, Resource } from "@sluice/crds";

export type ConditionType = "Accepted" | "ResolvedRefs";

/**
 * A fault tied to the resource that caused it: it is not served as it stands, but left out, left out in part, answered
 * with 503, or as it was before. Becomes a condition that is False, and with it Programmed.
 */
export interface Problem {
  readonly condition: ConditionType;
  /** CamelCase word that programs may match: Invalid, Conflicted, ServiceNotFound, SecretNotFound, ... */
  readonly reason: string;
  /** A sentence that tells what to change. */
  readonly message: string;
  /** Of a resource's first problem: what is served in its place, as a sentence's end. Absent: the message says so. */
  readonly outcome?: string;
}

/** How far the nodes are with the revision that contains the resource. */
export interface ProgrammedState {
  readonly programmed: boolean;
  /** When not: why, in a sentence. */
  readonly message: string;
}

const truths: Readonly<Record<ConditionType, { readonly reason: string; readonly message: string }>> = {
  Accepted: { reason: "Accepted", message: "The resource is valid." },
  ResolvedRefs: { reason: "ResolvedRefs", message: "Everything that the resource refers to was found." },
};

function verdict(type: ConditionType, problems: readonly Problem[]): Omit<Condition, "observedGeneration"> {
  const mine = problems.filter(({ condition }) => condition === type);
  const [first] = mine;
  if (!first) return { type, status: "True", ...truths[type] };
  return { type, status: "False", reason: first.reason, message: mine.map(({ message }) => message).join("; ") };
}

function programmed(problems: readonly Problem[], progress: ProgrammedState): Omit<Condition, "observedGeneration"> {
  const [obstacle] = problems;
  if (obstacle) {
    const { reason, message, outcome } = obstacle;
    return { type: "Programmed", status: "False", reason, message: outcome ? `${message}; ${outcome}` : message };
  }
  if (progress.programmed)
    return { type: "Programmed", status: "True", reason: "Programmed", message: "Every ready node serves it." };
  return { type: "Programmed", status: "Unknown", reason: "Pending", message: progress.message };
}

/** Kubernetes refuses a message of more bytes (metav1.Condition). */
const MAX_MESSAGE = 32_768;

/** The three conditions of a resource, for the generation that was looked at. */
export function conditionsOf(
  resource: Resource,
  problems: readonly Problem[],
  progress: ProgrammedState,
): readonly Condition[] {
  const observedGeneration = resource.metadata.generation ?? 0;
  return [verdict("Accepted", problems), verdict("ResolvedRefs", problems), programmed(problems, progress)].map(
    (condition) => ({ ...condition, message: condition.message.slice(0, MAX_MESSAGE), observedGeneration }),
  );
}

/** Whether the resource's status says all of this already (transition times aside). */
export function hasConditions(resource: Resource, conditions: readonly Condition[]): boolean {
  const said = new Map(resource.status?.conditions?.map((condition) => [condition.type, condition]));
  return conditions.every((condition) => {
    const before = said.get(condition.type);
    return (
      before?.status === condition.status &&
      before.reason === condition.reason &&
      before.message === condition.message &&
      before.observedGeneration === condition.observedGeneration
    );
  });
}
