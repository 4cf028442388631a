/**
 * Which conditions a field manager has applied. If its next server-side apply omits such a condition, the API server
 * removes the condition.
 */
import type { Resource } from "../resource.ts";

/** The types of the conditions that the manager owns through its applies to the status. */
export function ownedConditions(resource: Resource, manager: string): ReadonlySet<string> {
  const types = new Set<string>();
  for (const entry of resource.metadata.managedFields ?? []) {
    if (entry.manager !== manager || entry.operation !== "Apply" || entry.subresource !== "status") continue;
    const conditions = memberOf(memberOf(entry.fieldsV1, "f:status"), "f:conditions");
    for (const key of Object.keys(conditions ?? {})) {
      // An example of a key: `k:{"type":"Accepted"}`.
      if (key.startsWith("k:")) types.add(String(memberOf(JSON.parse(key.slice(2)), "type")));
    }
  }
  return types;
}

function memberOf(value: unknown, name: string): object | string | undefined {
  return typeof value === "object" && value !== null ? (value as Record<string, object | string>)[name] : undefined;
}
