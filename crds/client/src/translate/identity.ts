/**
 * Which entity a resource represents. The identity depends on no other resource, so references can be resolved with it.
 */
import { apiVersion, type Collection, DEFAULT_CLASS, deriveId, kindFacts, type ResourceKind } from "@sluice/model";
import type { Resource } from "../resource.ts";

export interface Identity {
  readonly kind: ResourceKind;
  readonly collection: Collection;
  /** Source of the derived id. If two resources of a kind share a key, only the older resource is used. */
  readonly key: string;
  /** `spec.id` in lower case if it is a UUID, or else derived from the key. */
  readonly id: string;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The Sluice kind of a resource; undefined for other resources, core Services among them. */
export function sluiceKindOf(resource: Pick<Resource, "apiVersion" | "kind">): ResourceKind | undefined {
  return resource.apiVersion === apiVersion && Object.hasOwn(kindFacts, resource.kind)
    ? (resource.kind as ResourceKind)
    : undefined;
}

/** `spec.class`, or else the class of the resource's namespace. */
export const classOf = ({ spec }: Pick<Resource, "spec">, ofNamespace: string = DEFAULT_CLASS): string =>
  text(spec?.class) ?? ofNamespace;

/** metadata.name in the home namespace, `<namespace>.<metadata.name>` elsewhere. */
export const qualifiedName = ({ metadata }: Pick<Resource, "metadata">, homeNamespace: string): string =>
  metadata.namespace === homeNamespace ? metadata.name : `${metadata.namespace}.${metadata.name}`;

/** The member of a spec that names the entity when `spec.name` does not, by kind. */
const namingMembers: Readonly<Partial<Record<ResourceKind, string>>> = {
  Plugin: "instanceName",
  Consumer: "username",
  Vault: "prefix",
};

/**
 * The key is `spec.name`, or else a Plugin's `instanceName`, a Consumer's `username` or a Vault's `prefix`: the id then
 * equals that of the same entity in a declarative file. Without any of these, the key is the qualified name. An invalid
 * `spec.id` is ignored here: translation reports it.
 *
 * @throws TypeError for a resource of a kind that is not Sluice's.
 */
export function identityOf(resource: Resource, homeNamespace: string): Identity {
  const kind = sluiceKindOf(resource);
  if (!kind) throw new TypeError(`${resource.apiVersion} ${resource.kind} is not a kind of Sluice`);
  const { collection } = kindFacts[kind];
  const { spec = {} } = resource;
  const naming = namingMembers[kind];
  const key = text(spec.name) ?? (naming && text(spec[naming])) ?? qualifiedName(resource, homeNamespace);
  const id = typeof spec.id === "string" && UUID.test(spec.id) ? spec.id.toLowerCase() : deriveId(collection, key);
  return { kind, collection, key, id };
}

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
