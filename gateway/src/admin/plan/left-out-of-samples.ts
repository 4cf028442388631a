/** The parts of the served configuration that the samples of a plan do not contain. */
import type { AdminSettings } from "../../settings/commands/admin.ts";
import type { Store, StoreProblem } from "../../stores/store.ts";

/** Maximum number of sentences about invalid resources. */
const MAX_TOLD = 20;

/** The conditions of resources that are not served as written. */
const conditions: ReadonlySet<string | null> = new Set(["Accepted", "ResolvedRefs"]);

/** Sentences, about custom resources only: other stores contain exactly the entities that nodes serve. */
export async function leftOutOfSamples(
  { problems }: Pick<Store, "problems">,
  store: AdminSettings["store"],
): Promise<readonly string[]> {
  if (store !== "cluster" && store !== "directory") return [];
  const invalid = ((await problems?.()) ?? []).filter(({ condition }) => conditions.has(condition));
  const more = invalid.length - MAX_TOLD;
  return [
    "Ingresses and resources of the Gateway API: only the operator translates them",
    ...invalid.slice(0, MAX_TOLD).map(problemSentence),
    ...(more > 0 ? [`${more} further conditions of invalid resources: GET /problems lists them`] : []),
  ];
}

function problemSentence({ resource, condition, reason, message }: StoreProblem): string {
  const name = resource === null ? "a resource" : `${resource.kind} ${resource.namespace}/${resource.name}`;
  return `${name} is not served as written: ${condition} is False (${reason}): ${message}`;
}
