/** Translation between custom resources and entities, both ways. Pure. */
export { classOf, type Identity, identityOf, qualifiedName, sluiceKind } from "./identity.ts";
export { type Ask, type NotedTranslation, translateNoted } from "./noted.ts";
export { describeResourceViolation, formatPath, resourcePath, resourceViolations } from "./paths.ts";
export type { Placement } from "./references-of.ts";
export { resourceName } from "./resource-name.ts";
export { credentialSecret, hashKey, isManaged, MANAGED_BY } from "./secrets.ts";
export { CHILD_TIMES, CREATED_AT, UPDATED_AT } from "./times.ts";
export { certificateSecret } from "./tls-secrets.ts";
export { toEntities } from "./to-entities.ts";
export { kindOfCollection, type ResourceCollection, type ToResourceOptions, toResource } from "./to-resource.ts";
export { type CheckedTranslation, translate } from "./translate.ts";
export type {
  Backend,
  Crossing,
  Path,
  Reason,
  Reference,
  ResourceViolation,
  Translated,
  TranslateOptions,
} from "./translation.ts";
