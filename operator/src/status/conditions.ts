/** Computes the conditions of a resource from its problems and the nodes' acknowledgements. Pure. */
import type { Condition, Resource } from "@sluice/crds";

export type ConditionType = "Accepted" | "ResolvedRefs";

/**
 * A problem of a resource. Unless it is only a warning, the resource is left out in whole or in part because of it, is
 * served in an earlier version, or its requests are answered with 503. The problem becomes a condition with status
 * False; Programmed is False too, except for warnings.
 */
export interface Problem {
  readonly condition: ConditionType;
  /** CamelCase word for programs to match: Invalid, Conflicted, ServiceNotFound, SecretNotFound, ... */
  readonly reason: string;
  /** A sentence that says what to change. */
  readonly message: string;
  /**
   * What is served, as the end of a sentence. Used only for the first problem of a resource. Absent: the message says
   * what is served.
   */
  readonly outcome?: string;
  /** Whether the resource is served completely. */
  readonly isWarning?: true;
}

/** The problems without warnings. */
export const obstaclesOf = <Kind extends Pick<Problem, "isWarning">>(problems: readonly Kind[]): readonly Kind[] =>
  problems.filter(({ isWarning }) => !isWarning);

/** Whether the nodes have the revision that contains the resource. */
export interface ProgrammedState {
  readonly programmed: boolean;
  /** When not programmed: the reason, as a sentence. */
  readonly message: string;
  /** Set for a Plugin that some nodes cannot run: a sentence that names these nodes, which answer 503 in its scope. */
  readonly missing?: string | undefined;
}

/** The end of the reason for a reference to a resource that is not served, such as `ServiceNotServed`. */
export const REFERENCE_NOT_SERVED = "NotServed";

/** The problems of a derived resource that concern its source: not those that follow from another derived resource. */
export const problemsForSource = (problems: readonly Problem[]): readonly Problem[] =>
  problems.filter(({ reason }) => !reason.endsWith(REFERENCE_NOT_SERVED));

/** The reason of `Programmed=False` for a Plugin that some nodes cannot run. */
export const PLUGIN_MISSING = "PluginMissing";

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
  const [obstacle] = obstaclesOf(problems);
  if (obstacle) {
    const { reason, message, outcome } = obstacle;
    return { type: "Programmed", status: "False", reason, message: outcome ? `${message}; ${outcome}` : message };
  }
  if (progress.missing !== undefined)
    return { type: "Programmed", status: "False", reason: PLUGIN_MISSING, message: progress.missing };
  if (progress.programmed)
    return { type: "Programmed", status: "True", reason: "Programmed", message: "Every ready node serves it." };
  return { type: "Programmed", status: "Unknown", reason: "Pending", message: progress.message };
}

/** Kubernetes rejects longer messages (metav1.Condition). */
const MAX_MESSAGE = 32_768;

/** The three conditions of a resource, observed at its generation. */
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

/** Whether the resource's status already has these conditions (transition times aside). */
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
