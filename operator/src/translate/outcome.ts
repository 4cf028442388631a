/** What becomes of a resource that has problems, in a sentence's end for its condition. Pure. */
import type { Problem } from "../status/conditions.ts";
import type { TranslatedResource } from "./translate-all.ts";
import type { Owner } from "./translation.ts";

export const LEFT_OUT = "it is left out";
export const THE_REST = "the rest of it is served";

/** Its place is kept by what answers 503. */
export const closedOutcome = ({ kind }: Pick<Owner, "kind">): string =>
  kind === "Route" ? "its requests are answered 503" : "the requests that it is for are answered 503";

export interface ServingState {
  /** Its main entity is served, as it stands or as it was last valid. */
  readonly isServed: boolean;
  /** Something that answers 503 stands in for it. */
  readonly isClosed: boolean;
}

/** Undefined: its problems say it, because its last valid version is served. */
export function outcomeOf(
  { cached: { owner, entities } }: Pick<TranslatedResource, "cached">,
  fate: ServingState,
): string | undefined {
  if (fate.isClosed) return closedOutcome(owner);
  if (!fate.isServed) return LEFT_OUT;
  return entities[0]?.violations.length === 0 ? THE_REST : undefined;
}

/** The first problem is the one that is told with what is served. */
export function withOutcome(problems: readonly Problem[], outcome: string | undefined): readonly Problem[] {
  const [first, ...others] = problems;
  return first && outcome !== undefined ? [{ ...first, outcome }, ...others] : problems;
}
