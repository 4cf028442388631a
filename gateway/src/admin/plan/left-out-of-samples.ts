/** The parts of the served configuration that the samples of a plan do not contain. */
import type { AdminSettings } from "../../settings/commands/admin.ts";
import type { Fleet, Store, StoreProblem } from "../../stores/store.ts";

/** Maximum number of sentences about invalid resources. */
const MAX_TOLD = 20;

/** The conditions of resources that are not served as written. */
const conditions: ReadonlySet<string | null> = new Set(["Accepted", "ResolvedRefs"]);

interface LeftOutSources {
  readonly store: Pick<Store, "problems">;
  readonly fleet: Pick<Fleet, "status">;
}

/** Sentences, about custom resources only: other stores contain exactly the entities that nodes serve. */
export async function leftOutOfSamples(
  { store, fleet }: LeftOutSources,
  kind: AdminSettings["store"],
): Promise<readonly string[]> {
  if (kind !== "cluster" && kind !== "directory") return [];
  const invalid = ((await store.problems?.()) ?? []).filter(({ condition }) => conditions.has(condition));
  const more = invalid.length - MAX_TOLD;
  return [
    // In a directory, there is nothing to derive from.
    ...(kind === "cluster" ? derivedSentences(await fleet.status().catch(() => null)) : []),
    ...invalid.slice(0, MAX_TOLD).map(problemSentence),
    ...(more > 0 ? [`${more} further conditions of invalid resources: GET /problems lists them`] : []),
  ];
}

/** @param status The operator's status; null: the operator does not answer. */
function derivedSentences(status: Readonly<Record<string, unknown>> | null): readonly string[] {
  const { derivedRoutes: count } = status ?? {};
  if (count === 0) return [];
  const what = typeof count === "number" ? `${count} ${count === 1 ? "route" : "routes"} derived from` : "routes of";
  return [`${what} Ingresses and resources of the Gateway API: only the operator translates them`];
}

function problemSentence({ resource, condition, reason, message }: StoreProblem): string {
  const name = resource === null ? "a resource" : `${resource.kind} ${resource.namespace}/${resource.name}`;
  return `${name} is not served as written: ${condition} is False (${reason}): ${message}`;
}
