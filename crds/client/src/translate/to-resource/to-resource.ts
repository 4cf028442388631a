/** Translates an entity to its custom resource, as the admin listener writes it. Pure. */
import { createHash } from "node:crypto";
import { isIP } from "node:net";
import {
  apiVersion,
  type Checked,
  type Collection,
  type CredentialCollection,
  checkEntity,
  type Entities,
  entities,
  entityNameOf,
  entitySecrets,
  kindFacts,
  type NameRef,
  type ResourceKind,
  resourceKinds,
  type SecretRef,
  writeSpec,
} from "@sluice/model";
import type { Resource } from "../../resource.ts";
import { namedKinds } from "../kind-tables.ts";
import { CHILD_TIMES, CREATED_AT, UPDATED_AT, writeChildTimes } from "../timestamps.ts";
import { type Children, pluginMembers, writeChildren, writeHeaders } from "./kind-members.ts";
import { type WriteReferencesOptions, writeReferences } from "./write-references.ts";

/**
 * Collections whose entities have resources of a kind of their own. Entities of the other collections are nested in the
 * resource of their parent.
 */
export type ResourceCollection = Exclude<Collection, CredentialCollection | "targets" | "snis">;

export interface ToResourceOptions extends WriteReferencesOptions {
  /** `spec.class` of a new resource. Default unset. */
  readonly class?: string;
  /** All entities of a list in the spec (targets, SNIs, credentials), by collection. Default: those in `previous`. */
  readonly children?: Children;
  /** References to Secrets, from `credentialSecret`, by the credentials' ids. Default: those in `previous`. */
  readonly secretRefs?: ReadonlyMap<string, SecretRef>;
  /** For a certificate, the reference to its Secret, from `certificateSecret`. Default: the one in `previous`. */
  readonly secretRef?: NameRef;
}

type Members = Readonly<Record<string, unknown>>;

export const kindOfCollection = (collection: ResourceCollection): ResourceKind =>
  resourceKinds.find((kind) => kindFacts[kind].collection === collection) as ResourceKind;

/**
 * The full resource to apply, without status, uid and resourceVersion. It has `spec.id`, so that the entity keeps its
 * id when it is renamed. Members with their default value are omitted, unless `previous` has them.
 *
 * Violations use the entity's spelling. They report references to an entity without a resource, and new references to
 * an entity whose resource is in a different namespace.
 */
export function toResource<Name extends ResourceCollection>(
  collection: Name,
  entity: Entities[Name],
  options: ToResourceOptions,
): Checked<Resource> {
  const kind = kindOfCollection(collection);
  const { previous } = options;
  const before: Members = previous?.spec ?? {};
  const references = writeReferences(kind, entity, options);
  if (references.violations.length > 0) return { violations: references.violations };

  const members: Members = { ...entity };
  const written = { ...writeSpec(kindFacts[kind].spec, members, before), ...algorithmMember(collection, members) };
  const resourceClass = previous ? before.class : options.class;
  const children = writeChildren(kind, {
    children: options.children ?? {},
    secretRefs: options.secretRefs ?? new Map(),
    before,
    namespace: references.namespace,
    locate: options.locate,
  });
  if (children.violations) return { violations: children.violations };
  const spec: Members = {
    ...nameMember(kind, members),
    id: entity.id,
    ...(resourceClass !== undefined && { class: resourceClass }),
    ...references.spec,
    ...own[kind](members, { written, before, options }),
    ...children.value,
  };
  return {
    value: {
      apiVersion,
      kind,
      metadata: {
        name: previous?.metadata.name ?? nameFor(kind, members, entity.id),
        namespace: references.namespace,
        annotations: {
          [CREATED_AT]: `${entity.created_at}`,
          [UPDATED_AT]: `${entity.updated_at}`,
          ...childTimesOf(entity, options),
        },
      },
      spec,
    },
  };
}

/** The annotation with the times of children; without new children, the previous annotation. */
function childTimesOf(
  entity: Entities[ResourceCollection],
  { children, previous }: ToResourceOptions,
): Record<string, string> {
  const times = children
    ? writeChildTimes(entity, timedChildren(children))
    : previous?.metadata.annotations?.[CHILD_TIMES];
  return times === undefined ? {} : { [CHILD_TIMES]: times };
}

/** All children, except credentials that have a Secret: the Secret has the time of the credential's creation. */
const timedChildren = (children: Children) =>
  (Object.entries(children) as [Collection, Children[Collection]][]).flatMap(([collection, list = []]) => {
    const [secret] = entities[collection].credential === undefined ? [] : entitySecrets[collection];
    return list.filter((child) => secret === undefined || Reflect.get(child, secret) === null);
  });

interface Parts {
  readonly written: Members;
  readonly before: Members;
  readonly options: ToResourceOptions;
}

/** The members of each kind's spec, without name, id, class, children, and references to Sluice's resources. */
const own: Readonly<Record<ResourceKind, (entity: Members, parts: Parts) => Members>> = {
  Certificate: certificateMembers,
  CACertificate: (_, { written }) => written,
  Upstream: (_, { written, before }) => ({ ...written, ...backendsOf(before) }),
  Service: (entity, parts) => ({ ...keepSource(entity, parts), ...headersOf(entity, parts) }),
  Route: (_, { written }) => written,
  Plugin: (entity, { written, before }) => ({ ...written, ...pluginMembers(entity, before) }),
  ConsumerGroup: (_, { written }) => written,
  Consumer: (_, { written }) => written,
  Vault: ({ name }, { written }) => ({ ...written, backend: name }),
  GraphQLDocuments: (_, { written }) => written,
};

/** The operator stores the pair of a certificate that it orders, so such a certificate refers to no Secret. */
function certificateMembers({ acme }: Members, { written, before, options }: Parts): Members {
  if (acme !== null) return written;
  const { secretRef = before.secretRef } = options;
  return { ...written, secretRef };
}

const headersOf = ({ upstream_headers }: Members, { before }: Parts): Members =>
  writeHeaders(upstream_headers as Entities["services"]["upstream_headers"], before);

/**
 * Keeps the form (url, backendRef or host) of the previous resource, so that the owner of these fields does not change.
 */
function keepSource(entity: Members, parts: Parts): Members {
  if (typeof parts.before.url !== "string") return keepBackend(entity, parts);
  const { protocol: _protocol, host: _host, port: _port, path: _path, ...rest } = parts.written;
  return { ...rest, url: urlOf(entity, parts.before.url) };
}

/** The previous url if it still matches the entity, otherwise a new one. */
function urlOf({ protocol, host, port, path }: Members, before: string): string {
  const said: Members | undefined = checkEntity("services", { url: before }).value;
  const facts = { protocol, host, port, path };
  if (said && Object.entries(facts).every(([member, value]) => said[member] === value)) return before;
  const name = isIP(String(host)) === 6 ? `[${host}]` : host;
  return `${protocol}://${name}${port === (protocol === "https" ? 443 : 80) ? "" : `:${port}`}${path ?? ""}`;
}

/** While the service still points at its core Service, the backendRef stays. */
function keepBackend(entity: Members, { written, before, options }: Parts): Members {
  const {
    name,
    port,
    namespace = options.previous?.metadata.namespace,
  } = Object(before.backendRef) as {
    readonly [member in "name" | "port" | "namespace"]?: unknown;
  };
  if (entity.host !== `${name}.${namespace}.svc` || entity.port !== port) return written;
  const { host: _host, port: _port, ...rest } = written;
  return { ...rest, backendRef: before.backendRef };
}

/** An entity has no backendRefs, so an update keeps those of the previous resource. */
const backendsOf = ({ backendRefs }: Members): Members => (backendRefs === undefined ? {} : { backendRefs });

const nameMember = (kind: ResourceKind, entity: Members): Members =>
  namedKinds.has(kind) ? { name: entity.name ?? "" } : {};

/** The name of a new resource, derived from the entity's name, or from the entity's id if it has no name. */
function nameFor(kind: ResourceKind, entity: Members, id: string): string {
  const { collection } = kindFacts[kind];
  const given = entityNameOf(collection, entity);
  if (given !== undefined) return resourceName(given);
  return resourceName(id, kind === "Plugin" && typeof entity.name === "string" ? entity.name : kind);
}

/**
 * The algorithm is written even if it is the default: an upstream with a hash input and no algorithm would use
 * consistent-hashing.
 */
const algorithmMember = (collection: Collection, { algorithm, hash_on }: Members): Members =>
  collection === "upstreams" && hash_on !== "none" ? { algorithm } : {};

/** With hyphen and hash this stays within 63 characters, the shortest Kubernetes limit for names. */
const MAX_SLUG = 48;
const HASH_LENGTH = 10;

/**
 * A readable slug and a hash of the full name. Two entities of the same name get the same resource name, so that
 * creating the second fails; names that differ only in characters that the slug omits get different resource names.
 *
 * @param name The entity's name, or its id when it has none.
 * @param readable The source of the slug; the name by default.
 */
export function resourceName(name: string, readable: string = name): string {
  const slug = readable
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, MAX_SLUG)
    .replace(/^-+|-+$/g, "");
  const hash = createHash("sha256").update(name, "utf8").digest("hex").slice(0, HASH_LENGTH);
  return slug === "" ? `x-${hash}` : `${slug}-${hash}`;
}
