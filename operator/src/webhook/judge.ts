/**
 * What is to be said of a resource before it is stored. Pure: it looks at nothing but the resource. Whoever reaches the
 * webhook may ask it, so that its answers tell nothing of what there is in the cluster; references are looked at when
 * the resource is translated, and conditions tell of them.
 */
import { type Ask, type Path, type Resource, type ResourceViolation, sluiceKind, translate } from "@sluice/crds";
import { kinds } from "@sluice/model";
import { beyondBounds } from "./bounds.ts";
import { withoutEffect } from "./without-effect.ts";

export interface Verdict {
  /** Why it would not be served, in the model's words. None: it may be stored. */
  readonly violations: readonly ResourceViolation[];
  /** What would be stored and do nothing; a sentence each. */
  readonly warnings: readonly string[];
}

/** References and Secrets may come later than what refers to them, and grants too. */
const everythingIsThere: Ask = {
  resolve: () => "00000000-0000-4000-8000-000000000000",
  read: () => undefined,
  allows: () => true,
  opened: () => [],
};

/** @throws TypeError for a resource that is not of ours. */
export function judge(resource: Resource, { homeNamespace }: { readonly homeNamespace: string }): Verdict {
  const kind = sluiceKind(resource);
  const excess = kind && beyondBounds(kinds[kind].spec, resource.spec);
  if (excess) return { violations: [{ ...excess, condition: "Accepted", reason: "Invalid" }], warnings: [] };
  const later = placesFromSecrets(resource);
  const violations = translate(resource, { homeNamespace, audience: "nodes", ...everythingIsThere })
    .flatMap((translated) => translated.violations)
    .filter(({ condition, path }) => condition === "Accepted" && !later.some((place) => meet(place, path)));
  return { violations, warnings: violations.length > 0 ? [] : withoutEffect(resource) };
}

/** Members of a plugin's config that Secrets hold: what stands there is not known yet, nor what depends on it. */
function placesFromSecrets({ spec }: Resource): readonly Path[] {
  const sources: readonly unknown[] = Array.isArray(spec?.configFrom) ? spec.configFrom : [];
  return sources.flatMap((source) => {
    const { path } = Object(source) as { readonly path?: unknown };
    return typeof path === "string" ? [["spec", "config", ...path.split(".")]] : [];
  });
}

/** One lies in the other, or they are the same place. */
const meet = (one: Path, other: Path): boolean =>
  [...Array(Math.min(one.length, other.length)).keys()].every((step) => one[step] === other[step]);
