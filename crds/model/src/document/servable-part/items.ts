/** The entities of a document while it is reduced to its servable part. */
import { isRecord, memberSchemaOf, type Violation } from "@sluice/plugin-sdk";
import { expandConfig } from "../../check/shorthand.ts";
import { type Collection, entities, references, vaultKinds } from "../../entities/index.ts";
import { pluginEntitySchema, streamProtocols } from "../../entities/plugin.ts";
import { mayProtect, pluginNamed } from "../../plugins/index.ts";
import { parseVaultReference, replaceReferences } from "../../plugins/vault-references.ts";

/** The name of the plugins that are added so that a route, or every route, answers 503. */
export const CLOSED_ROUTES = "unavailable-route";

export type ViolationPath = Violation["path"];

export interface DocumentItem {
  readonly collection: Collection;
  /** The entity's path in the original document. Empty for a plugin that was added to answer 503. */
  readonly origin: ViolationPath;
  members: Readonly<Record<string, unknown>>;
  /** Whether requests in the entity's scope are answered 503. */
  closed: boolean;
  /** Whether members of the entity were left out. */
  reduced: boolean;
}

export const isBelow = (path: ViolationPath, origin: ViolationPath): boolean =>
  origin.length > 0 && origin.every((step, at) => step === path[at]);

/** The id of the entity that a member refers to; undefined if it refers to none. */
export function referencedBy({ members }: DocumentItem, member: string): unknown {
  const reference = members[member];
  return isRecord(reference) ? reference.id : undefined;
}

export const isReference = ({ collection }: DocumentItem, member: string): boolean =>
  references[collection].some((reference) => reference.member === member);

/** Whether an entity is for a protocol that Sluice serves: not if it is for udp only. */
export function hasServedProtocol({ members: { protocols } }: DocumentItem): boolean {
  return !Array.isArray(protocols) || protocols.length === 0 || protocols.some((one) => one !== "udp");
}

/** Whether a route is for connections that are not HTTP. */
export const isForConnections = ({ members: { protocols } }: DocumentItem): boolean =>
  Array.isArray(protocols) && streamProtocols.some((protocol) => protocols.includes(protocol));

/**
 * Whether requests without TLS are refused, because no protocol allows plain text. By default, a route has the
 * protocols http and https.
 */
const requiresTls = (item: DocumentItem): boolean => {
  const { protocols } = item.members;
  const isPlain = !Array.isArray(protocols) || protocols.some((one) => one === "http" || one === "grpc");
  return !isPlain && protocols.length > 0 && !isForConnections(item);
};

export const isProtecting = (item: DocumentItem): boolean =>
  item.collection === "plugins" &&
  item.members.enabled !== false &&
  mayProtect(item.members.name) &&
  (item.closed || hasServedProtocol(item));

/** Members of configs by which a plugin admits a request whose consumer it does not find. */
const admitting = ["anonymous", "default_consumer", "consumer_optional"];

/**
 * Whether a plugin may admit the requests of a consumer that is left out. All other plugins that authenticate need the
 * consumer or one of its credentials.
 */
export function mayAdmitUnknown(item: DocumentItem): boolean {
  const { name, config } = item.members;
  if (!isProtecting(item) || item.closed) return false;
  return name === "openid-connect" || (isRecord(config) && admitting.some((member) => Boolean(config[member])));
}

/**
 * Whether Kong may refuse requests that match the route: because of a plugin, with 503 because the route has no
 * service, or with 426 because it requires TLS. Plugins of consumers and of consumer groups do not count: they
 * need a plugin that authenticates, and that plugin counts.
 */
export function mayBeProtected(route: DocumentItem, items: readonly DocumentItem[]): boolean {
  if (!hasServedProtocol(route)) return false;
  const service = referencedBy(route, "service");
  const isOfService = ({ collection, members }: DocumentItem) => collection === "services" && members.id === service;
  // Kong's router leaves out the routes of a disabled service.
  if (items.find(isOfService)?.members.enabled === false) return false;
  if (service === undefined || requiresTls(route)) return true;
  const isScope = (id: unknown, own: unknown) => id === undefined || id === own;
  return items.some(
    (item) =>
      isProtecting(item) &&
      item.members.name !== CLOSED_ROUTES &&
      referencedBy(item, "consumer") === undefined &&
      referencedBy(item, "consumer_group") === undefined &&
      isScope(referencedBy(item, "route"), route.members.id) &&
      isScope(referencedBy(item, "service"), service),
  );
}

/** Whether the entity protects the same requests without the member. Members of upstreams only affect balancing. */
export function isOptional({ collection }: DocumentItem, member: unknown): boolean {
  if (member === "tags") return true;
  return collection === "upstreams" && typeof member === "string" && !["id", "name", "@entity"].includes(member);
}

export const omitMembers = (
  members: DocumentItem["members"],
  omitted: { has(member: unknown): boolean },
): DocumentItem["members"] => Object.fromEntries(Object.entries(members).filter(([member]) => !omitted.has(member)));

/** The members of a plugin that `pluginEntitySchema` has and that have no violation; the name is always included. */
export function readableMembers(
  { members, origin }: DocumentItem,
  faults: readonly Violation[],
): DocumentItem["members"] {
  const faulty = new Set<unknown>(faults.map(({ path }) => path[origin.length]));
  const known = (member: unknown) => memberSchemaOf(pluginEntitySchema, String(member)) !== undefined;
  const { name } = members;
  return { ...omitMembers(members, { has: (member) => faulty.has(member) || !known(member) }), name };
}

/**
 * The path of the first vault reference that nodes do not resolve; undefined if there is none.
 *
 * @param prefixes The prefixes of the vaults in the document.
 */
export const unresolvedReferenceIn = (item: DocumentItem, prefixes: readonly string[]): ViolationPath | undefined =>
  vaultReferenceIn(withoutResolvable(item, prefixes));

/** The members, without the references that nodes resolve. */
function withoutResolvable(
  { collection, members }: DocumentItem,
  prefixes: readonly string[],
): DocumentItem["members"] {
  const facts = collection === "plugins" ? pluginNamed(members.name) : undefined;
  if (facts === undefined || !isRecord(members.config)) return members;
  const { members: config } = expandConfig(facts, members.config);
  const resolved = replaceReferences(facts.schema, config, ({ text }) => {
    const { value: address } = parseVaultReference(text);
    const isResolved = address !== undefined && [...vaultKinds, ...prefixes].includes(address.vault);
    return isResolved ? "" : text;
  });
  return { ...members, config: resolved };
}

function vaultReferenceIn(value: unknown): ViolationPath | undefined {
  if (typeof value === "string") return value.startsWith("{vault://") ? [] : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const path = vaultReferenceIn(member);
    if (path !== undefined) return [Array.isArray(value) ? Number(name) : name, ...path];
  }
  return undefined;
}

/** The name of an entity for a report; its id if it has no name. */
export const labelOf = ({ collection, members }: DocumentItem): string =>
  String(members[entities[collection].key ?? "id"] ?? members.id);
