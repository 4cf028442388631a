/** From an entity to the custom resource that stands for it, as the admin listener writes it. Pure. */
import { isIP } from "node:net";
import {
  apiVersion,
  type Checked,
  type Collection,
  checkEntity,
  type Entities,
  type KeyAuthEntry,
  kinds,
  type NameRef,
  nameOf,
  type ResourceKind,
  resourceKinds,
  type Sni,
  type Target,
  writeSpec,
} from "@sluice/model";
import type { Resource } from "../../resource.ts";
import { CHILD_TIMES, CREATED_AT, UPDATED_AT, writeChildTimes } from "../timestamps.ts";
import { writeHeaders } from "../to-entities/upstream-headers.ts";
import { pluginParts } from "./plugin-parts.ts";
import { resourceName } from "./resource-name.ts";
import { writeChildren } from "./write-children.ts";
import { type ResourceLocation, writeReferences } from "./write-references.ts";

/** Collections that have a kind of their own. The others stand in the resource of their parent. */
export type ResourceCollection = Exclude<Collection, "keyauth_credentials" | "targets" | "snis">;

export interface ToResourceOptions {
  /** Where the resource goes if it neither exists nor refers to a resource: the home namespace. */
  readonly namespace: string;
  /** The resource that stands for an entity; undefined when there is none. */
  readonly locate: (kind: ResourceKind, id: string) => ResourceLocation | undefined;
  /** The resource that is replaced: it keeps its name and what the entity cannot say (backendRef, configFrom, class). */
  readonly previous?: Resource;
  /** `spec.class` of a new resource. Default unset. */
  readonly class?: string;
  /** Consumers: the keys, from `credentialSecret`. Default: those of `previous`. */
  readonly keyAuth?: readonly KeyAuthEntry[];
  /** Upstreams: all of its targets. Default: those of `previous`. */
  readonly targets?: readonly Target[];
  /** Certificates: all of its SNIs. Default: those of `previous`. */
  readonly snis?: readonly Sni[];
  /** Certificates: the Secret, from `certificateSecret`. Default: that of `previous`. */
  readonly secretRef?: NameRef;
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
  const references = writeReferences(collection, entity, options);
  if (references.violations.length > 0) return { violations: references.violations };

  const members: Members = { ...entity };
  const written = { ...writeSpec(kinds[kind].spec, members, before), ...algorithmMember(collection, members) };
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

/** Children that stay as they were keep their times. */
function childTimesOf(
  entity: Entities[ResourceCollection],
  { targets, snis, previous }: ToResourceOptions,
): Record<string, string> {
  const children = targets ?? snis;
  const times = children ? writeChildTimes(entity, children) : previous?.metadata.annotations?.[CHILD_TIMES];
  return times === undefined ? {} : { [CHILD_TIMES]: times };
}

interface Parts {
  readonly written: Members;
  readonly before: Members;
  readonly options: ToResourceOptions;
}

/** What the derived members become in each kind. */
const own: Readonly<Record<ResourceKind, (entity: Members, parts: Parts) => Members>> = {
  Certificate: (_, { written, before, options: { snis, secretRef = before.secretRef } }) => ({
    ...written,
    secretRef,
    ...writeChildren("Certificate", snis, before),
  }),
  Upstream: (_, { written, before, options: { targets } }) => ({
    ...written,
    ...writeChildren("Upstream", targets, before),
  }),
  Service: (entity, parts) => ({ ...keepSource(entity, parts), ...headersOf(entity, parts) }),
  Route: (_, { written }) => written,
  Plugin: (entity, { written, before }) => ({ ...written, ...pluginParts(entity, before) }),
  Consumer: (_, { written, before, options }) => {
    const keyAuth = options.keyAuth ?? before.keyAuth;
    return { ...written, ...(Array.isArray(keyAuth) && keyAuth.length > 0 && { keyAuth }) };
  },
};

const headersOf = ({ upstream_headers }: Members, { before }: Parts): Members =>
  writeHeaders(upstream_headers as Entities["services"]["upstream_headers"], before);

/** A service says where its upstream is in the way that its resource does: whoever wrote that goes on owning it. */
function keepSource(entity: Members, parts: Parts): Members {
  if (typeof parts.before.url !== "string") return keepBackend(entity, parts);
  const { protocol: _protocol, host: _host, port: _port, path: _path, ...rest } = parts.written;
  return { ...rest, url: urlOf(entity, parts.before.url) };
}

/** The url as it stands while it says what the entity says, else the same facts as a new one. */
function urlOf({ protocol, host, port, path }: Members, before: string): string {
  const said: Members | undefined = checkEntity("services", { url: before }).value;
  const facts = { protocol, host, port, path };
  if (said && Object.entries(facts).every(([member, value]) => said[member] === value)) return before;
  const name = isIP(String(host)) === 6 ? `[${host}]` : host;
  return `${protocol}://${name}${port === (protocol === "https" ? 443 : 80) ? "" : `:${port}`}${path ?? ""}`;
}

/** As long as the service still points at its core Service, it goes on following its endpoints. */
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

/** Kinds whose `spec.name` is the entity's name. The others have a naming member of their own, or none. */
const named: ReadonlySet<ResourceKind> = new Set(["Upstream", "Service", "Route"]);

const nameMember = (kind: ResourceKind, entity: Members): Members =>
  named.has(kind) ? { name: entity.name ?? "" } : {};

/** Entities with a name: from the name. Others: from the id. */
function nameFor(kind: ResourceKind, entity: Members, id: string): string {
  const { collection } = kinds[kind];
  const given = nameOf(collection, entity);
  if (given !== undefined) return resourceName(given);
  return resourceName(id, kind === "Plugin" && typeof entity.name === "string" ? entity.name : kind);
}

/** Written though it is the default: an upstream that says what to hash and no algorithm hashes. */
const algorithmMember = (collection: Collection, { algorithm, hash_on }: Members): Members =>
  collection === "upstreams" && hash_on !== "none" ? { algorithm } : {};
