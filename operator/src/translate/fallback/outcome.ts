/** Describes the served part of a resource with problems, as the end of a sentence for its condition. Pure. */
import { obstaclesOf, type Problem } from "../../status/conditions.ts";
import type { ResourceTranslation } from "../translate-resource.ts";
import type { Owner } from "../translation.ts";

export const RESOURCE_NOT_SERVED = "the resource is not served";
export const REST_IS_SERVED = "the rest of the resource is served";

/** The outcome for a resource that is replaced by a stand-in that answers 503. */
export const closedOutcome = ({ kind }: Pick<Owner, "kind">): string =>
  kind === "Route" ? "its requests are answered with 503" : "requests in its scope are answered with 503";

export interface ServingState {
  /** Whether the resource's main entity is served, in its current or last valid version. */
  readonly isServed: boolean;
  /** Whether a stand-in that answers 503 replaces the resource. */
  readonly isClosed: boolean;
}

/** What is served of a resource with problems. Undefined: its last valid version, which the problem messages report. */
export function servedOutcome(
  { cached: { owner, entities } }: { readonly cached: ResourceTranslation },
  fate: ServingState,
): string | undefined {
  if (fate.isClosed) return closedOutcome(owner);
  if (!fate.isServed) return RESOURCE_NOT_SERVED;
  return entities[0]?.violations.every(({ isPartial }) => isPartial) ? REST_IS_SERVED : undefined;
}

/** The problems, with the outcome added to the first one that is not only a warning. */
export function withOutcome(problems: readonly Problem[], outcome: string | undefined): readonly Problem[] {
  const [first] = obstaclesOf(problems);
  if (first === undefined || outcome === undefined) return problems;
  return problems.map((problem) => (problem === first ? { ...problem, outcome } : problem));
}
