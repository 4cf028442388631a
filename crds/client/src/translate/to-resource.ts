/** From an entity to the custom resource that stands for it, as the admin listener writes it. Pure. */
import {
  apiVersion,
  type Checked,
  type Collection,
  type Entities,
  type KeyAuthEntry,
  kinds,
  type ResourceKind,
  resourceKinds,
  writeSpec,
} from "@sluice/model";
import type { Resource } from "../resource.ts";
import { pluginParts } from "./plugin-parts.ts";
import { type Placement, placeReferences } from "./references-of.ts";
import { resourceName } from "./resource-name.ts";
import { CREATED_AT, UPDATED_AT } from "./times.ts";

/** Collections that have a kind of their own. Credentials stand in their consumer's resource. */
export type ResourceCollection = Exclude<Collection, "keyauth_credentials">;

export interface ToResourceOptions {
  /** Where the resource goes if it neither exists nor refers to a resource: the home namespace. */
  readonly namespace: string;
  /** The resource that stands for an entity; undefined when there is none. */
  readonly place: (kind: ResourceKind, id: string) => Placement | undefined;
  /** The resource that is replaced: it keeps its name and what the entity cannot say (backendRef, configFrom, class). */
  readonly previous?: Resource;
  /** `spec.class` of a new resource. Default unset. */
  readonly class?: string;
  /** Consumers: the keys, from `credentialSecret`. Default: those of `previous`. */
  readonly keyAuth?: readonly KeyAuthEntry[];
}

type Members = Readonly<Record<string, unknown>>;

export const kindOfCollection = (collection: ResourceCollection): ResourceKind =>
  resourceKinds.find((kind) => kinds[kind].collection === collection) as ResourceKind;

/**
 * The full resource to apply, without status, uid and resourceVersion. It carries `spec.id`, so that the entity keeps
 * its id whatever it is renamed to. Members with their default are left out, unless `previous` names them.
 *
 * Violations are in the entity's own spelling: a reference to an entity that has no resource, or whose resource lives
 * in another namespace than the rest (a resource refers by name within its namespace).
 */
export function toResource<Name extends ResourceCollection>(
  collection: Name,
  entity: Entities[Name],
  options: ToResourceOptions,
): Checked<Resource> {
  const kind = kindOfCollection(collection);
  const { previous } = options;
  const before: Members = previous?.spec ?? {};
  const references = placeReferences(collection, entity, options);
  if (references.violations.length > 0) return { violations: references.violations };

  const members: Members = { ...entity };
  const written = writeSpec(kinds[kind].spec, members, before);
  const resourceClass = previous ? before.class : options.class;
  const spec: Members = {
    ...nameMember(kind, members),
    id: entity.id,
    ...(resourceClass !== undefined && { class: resourceClass }),
    ...references.spec,
    ...own[kind](members, { written, before, options }),
  };
  return {
    value: {
      apiVersion,
      kind,
      metadata: {
        name: previous?.metadata.name ?? nameFor(kind, members, entity.id),
        namespace: references.namespace,
        annotations: { [CREATED_AT]: `${entity.created_at}`, [UPDATED_AT]: `${entity.updated_at}` },
      },
      spec,
    },
  };
}

interface Parts {
  readonly written: Members;
  readonly before: Members;
  readonly options: ToResourceOptions;
}

/** What the derived members become in each kind. */
const own: Readonly<Record<ResourceKind, (entity: Members, parts: Parts) => Members>> = {
  Service: (entity, { written, before, options }) => keepBackend(entity, { written, before, options }),
  Route: (_, { written }) => written,
  Plugin: (entity, { written, before }) => ({ ...written, ...pluginParts(entity, before) }),
  Consumer: (_, { written, before, options }) => {
    const keyAuth = options.keyAuth ?? before.keyAuth;
    return { ...written, ...(Array.isArray(keyAuth) && keyAuth.length > 0 && { keyAuth }) };
  },
};

/** As long as the service still points at its core Service, it goes on following its endpoints. */
function keepBackend(entity: Members, { written, before, options }: Parts): Members {
  const { name, port } = Object(before.backendRef) as { name?: unknown; port?: unknown };
  const namespace = options.previous?.metadata.namespace;
  if (entity.host !== `${name}.${namespace}.svc` || entity.port !== port) return written;
  const { host: _host, port: _port, ...rest } = written;
  return { ...rest, backendRef: before.backendRef };
}

/** Plugins and consumers have a naming member of their own. */
function nameMember(kind: ResourceKind, entity: Members): Members {
  return kind === "Service" || kind === "Route" ? { name: entity.name ?? "" } : {};
}

/** Services, routes, consumers and plugins with a name: from the name. Others: from the id. */
function nameFor(kind: ResourceKind, entity: Members, id: string): string {
  const named = { Service: entity.name, Route: entity.name, Plugin: entity.instance_name, Consumer: entity.username }[
    kind
  ];
  if (typeof named === "string") return resourceName(named);
  return resourceName(id, kind === "Plugin" && typeof entity.name === "string" ? entity.name : kind);
}
