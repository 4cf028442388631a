/** Substitutes for resources that have become invalid, with the problems of the current version. */
import type { CheckedTranslation, DerivedResource, Resource, TrackedTranslation } from "@sluice/crds";
import { mayProtect, type RouteExtras } from "@sluice/model";

/**
 * The last valid version with the scope that the derive stage gives the current version: the Route of an attached
 * Plugin, and listeners. Otherwise the Plugin could be attached to its former Route instead of the current one.
 * Undefined: the current version has no Route.
 */
export function withCurrentScope(last: Resource, current: Resource): Resource | undefined {
  const [before, now] = [last, current].map((one) => (one as Partial<DerivedResource>).derived);
  if (!now) return before ? undefined : last;
  const { listeners } = now.extras ?? {};
  const { listeners: _, ...extras } = before?.extras ?? {};
  const { targetRefs } = current.spec ?? {};
  return {
    ...last,
    spec: { ...last.spec, ...(targetRefs !== undefined && { targetRefs }) },
    derived: { ...before, ...now, extras: { ...extras, ...(listeners && { listeners }) } },
  } as Resource;
}

/**
 * Replaces an invalid resource by its last valid version. Only the resource's own content comes from that version.
 * Secrets, grants and other referenced objects are current, so that revoked access stays revoked. A resource with a
 * missing reference is valid and is not replaced: its requests are answered with 503.
 *
 * @param last The resource's last valid version; undefined: none is known.
 */
export function withLastValid(
  tracked: TrackedTranslation,
  last: Resource | undefined,
  translate: (resource: Resource) => TrackedTranslation,
): TrackedTranslation {
  const [faulty] = tracked.translated;
  const isInvalid = faulty && !faulty.entity && faulty.violations.some(({ condition }) => condition === "Accepted");
  if (!isInvalid || !last) return tracked;
  const before = translate(last);
  const [kept, ...others] = before.translated;
  const both: TrackedTranslation = {
    translated: tracked.translated,
    dependencies: tracked.dependencies.union(before.dependencies),
    isCurrent: (lookups) => tracked.isCurrent(lookups) && before.isCurrent(lookups),
  };
  // Other resources refer to the current id, so a version with a different id is no substitute.
  if (!kept?.entity || kept.item.id !== faulty.item.id) return both;
  // A version that does not protect cannot replace one that may protect: serving it would leave the route open.
  const isPlugin = faulty.collection === "plugins";
  if (isPlugin && mayProtect(faulty.item.name) && !mayProtect(kept.item.name)) return both;
  const { generation } = last.metadata;
  const which =
    generation === undefined ? "its last valid version" : `its last valid version, generation ${generation},`;
  const violations: CheckedTranslation["violations"] = faulty.violations.map((violation) => ({
    ...violation,
    message: `${violation.message}; ${which} is served until a valid one replaces it`,
  }));
  return { ...both, translated: [{ ...kept, ...closedAs(faulty, kept.entity), violations }, ...others] };
}

/**
 * The entity of the last valid version, closed if the current version is: a derived route is closed as a whole when its
 * source asks for a protection that cannot be given.
 */
function closedAs(
  { item }: Pick<CheckedTranslation, "item">,
  entity: CheckedTranslation["entity"],
): Partial<CheckedTranslation> {
  const { unavailable } = (item._sluice ?? {}) as RouteExtras;
  if (!entity || unavailable === undefined) return {};
  const extras = {
    ...(entity as { readonly _sluice?: object })._sluice,
    unavailable: unavailable.slice(0, MAX_REASON),
  };
  return { entity: { ...entity, _sluice: extras } as unknown as CheckedTranslation["entity"] };
}

/** The model allows 1024 characters. */
const MAX_REASON = 1000;

/**
 * Translates a Certificate whose Secret has become invalid: its current content with the last valid Secret. Clients
 * keep seeing the certificate that they know, until the Certificate has a valid Secret again or is deleted. The Secret
 * is saved with the last valid Certificate (saved-state/last-valid-versions.ts).
 *
 * @param translated The Certificate with its current Secret.
 * @param last The last valid Secret; undefined: none is known.
 */
export function withLastSecret(
  translated: readonly CheckedTranslation[],
  last: Resource | undefined,
  translateWith: (secret: Resource) => readonly CheckedTranslation[],
): readonly CheckedTranslation[] {
  const [faulty] = translated;
  if (!faulty || faulty.entity || !last) return translated;
  const [kept, ...others] = translateWith(last);
  // More than the Certificate's Secret is invalid.
  if (!kept?.entity) return translated;
  const violations = faulty.violations.map((violation) => ({
    ...violation,
    message: `${violation.message}; the last valid certificate is served until a valid one replaces it`,
  }));
  return [{ ...kept, violations }, ...others];
}
