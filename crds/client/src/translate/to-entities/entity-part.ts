/** A parsed resource, and the parts of which its entity consists. */
import type { ResourceKind, SpecMembers } from "@sluice/model";
import type { Resource } from "../../resource.ts";
import type { Identity } from "../identity.ts";
import type {
  CrossNamespaceReference,
  Path,
  ReferencedResource,
  ResourceViolation,
  TranslatedEntity,
  TranslateOptions,
} from "../translation.ts";

/** The input of the translation of every member. */
export interface TranslatorInput extends SpecMembers {
  readonly resource: Resource;
  readonly identity: Identity;
  /** The kind and namespace of the resource. */
  readonly from: CrossNamespaceReference["from"] & { readonly kind: ResourceKind };
  /** `created_at` and `updated_at`; each is absent if the resource does not have it. */
  readonly times: { readonly created_at?: number; readonly updated_at?: number };
  readonly violations: readonly ResourceViolation[];
  readonly options: TranslateOptions;
}

/** The contribution of some members of a spec to an entity. */
export interface EntityPart
  extends Partial<
    Pick<TranslatedEntity, "sourcePaths" | "violations" | "references" | "backends" | "secretPaths" | "hiddenPaths">
  > {
  /** Members of the entity. */
  readonly members?: Readonly<Record<string, unknown>>;
}

/**
 * The entity that consists of all parts. Members of later parts replace those of earlier parts; of `backends`,
 * `secretPaths` and `hiddenPaths`, the first value is used.
 */
export function entityOf(
  entity: Pick<TranslatedEntity, "collection" | "basePath"> & { readonly id: string },
  parts: readonly EntityPart[],
): TranslatedEntity {
  const { collection, basePath, id } = entity;
  const members: Record<string, unknown> = {};
  const sourcePaths: Record<string, Path> = {};
  const violations: ResourceViolation[] = [];
  const references: ReferencedResource[] = [];
  let backends: EntityPart["backends"];
  let secretPaths: EntityPart["secretPaths"];
  let hiddenPaths: EntityPart["hiddenPaths"];
  for (const part of parts) {
    Object.assign(members, part.members);
    Object.assign(sourcePaths, part.sourcePaths);
    violations.push(...(part.violations ?? []));
    references.push(...(part.references ?? []));
    backends ??= part.backends;
    secretPaths ??= part.secretPaths;
    hiddenPaths ??= part.hiddenPaths;
  }
  const item = { ...members, id };
  return { collection, basePath, item, sourcePaths, violations, references, backends, secretPaths, hiddenPaths };
}

/** A violation in the resource's own fields. */
export const invalidField = (path: ResourceViolation["path"], message: string): ResourceViolation => ({
  path,
  message,
  condition: "Accepted",
  reason: "Invalid",
});
