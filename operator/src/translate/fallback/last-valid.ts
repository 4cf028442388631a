/**
 * Replaces an invalid resource by its last valid version, with the problems of the current one. Only its own content
 * comes from the last version; references, Secrets and grants are current, so that revoked access stays revoked. A
 * missing reference is no reason: that resource is valid, and its requests are answered 503.
 */
import type { CheckedTranslation, Resource, TrackedTranslation } from "@sluice/crds";
import { mayProtect } from "@sluice/model";

export interface Quarantine {
  /** Of the current version. */
  readonly tracked: TrackedTranslation;
  readonly resource: Resource;
  /** Its last valid version; undefined: none is known. */
  readonly last: Resource | undefined;
  readonly translate: (resource: Resource) => TrackedTranslation;
}

export function withLastValid({ tracked, resource, last, translate }: Quarantine): TrackedTranslation {
  const [faulty] = tracked.translated;
  const isInvalid = faulty && !faulty.entity && faulty.violations.some(({ condition }) => condition === "Accepted");
  if (!isInvalid || !last || last === resource) return tracked;
  const before = translate(last);
  const [kept, ...others] = before.translated;
  const both: TrackedTranslation = {
    translated: tracked.translated,
    dependencies: tracked.dependencies.union(before.dependencies),
    isCurrent: (lookups) => tracked.isCurrent(lookups) && before.isCurrent(lookups),
  };
  // Others refer to it by the id that it says now.
  if (!kept?.entity || kept.item.id !== faulty.item.id) return both;
  // A version that does not protect is no substitute for one that may: serving it would leave the route open.
  const isPlugin = faulty.collection === "plugins";
  if (isPlugin && mayProtect(faulty.item.name) && !mayProtect(kept.item.name)) return both;
  const { generation } = last.metadata;
  const which =
    generation === undefined ? "its last valid version" : `its last valid version, generation ${generation},`;
  const violations: CheckedTranslation["violations"] = faulty.violations.map((violation) => ({
    ...violation,
    message: `${violation.message}; ${which} is served until there is another`,
  }));
  return { ...both, translated: [{ ...kept, violations }, ...others] };
}
