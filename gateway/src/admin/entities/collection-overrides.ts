/** The operations in which some collections differ from the general operations. */
import { randomInt, randomUUID } from "node:crypto";
import {
  type Certificate,
  type Collection,
  type CredentialCollection,
  credentialCollections,
  documentPassword,
  type Entities,
  type Entity,
  entities,
  isConsumerBound,
  type Plugin,
  type Upstream,
  type Violation,
  withDeprecated,
} from "@sluice/model";
import { isRecord } from "@sluice/plugin-sdk";
import { passwordToStore, scryptPassword } from "../../stores/passwords.ts";
import { unstorableReason } from "../../stores/unstorable-text.ts";
import type { RawMembers } from "../http/decode-body.ts";
import { badRequest, invalidEntity } from "../http/errors.ts";
import type { EntityOperations, PrepareOptions } from "../requests.ts";
import { checkPluginProtocols } from "../writes/plugin-protocols.ts";
import { caCertificates } from "./ca-certificates.ts";
import { certificates } from "./certificates.ts";
import { consumerGroupConsumers, consumerGroups } from "./consumer-groups.ts";
import { presentEntities } from "./operations.ts";
import { resolveUrl } from "./resolve-url.ts";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const KEY_LENGTH = 32;

const randomKey = (): string => Array.from({ length: KEY_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");

const now = (): number => Math.floor(Date.now() / 1000);

/** Credentials: missing keys and secrets are generated, and `ttl` is counted from now. */
const credentials = (collection: CredentialCollection): Partial<EntityOperations> => ({
  prepare: (raw, how) => withLife(how.isPartial ? raw : withGenerated(collection, raw, how), how.before),

  /** Shows `ttl` as the remaining seconds; leaves it out for a key that does not expire. */
  async present(entity) {
    if (!("ttl" in entity)) return { ...entity };
    const { ttl, ...members } = entity;
    if (ttl === null) return members;
    return { ...members, ttl: Math.max(0, members.created_at + ttl - now()) };
  },
});

/** Adds missing keys, secrets and the id. The id is never derived from the key: ids appear in headers and logs. */
function withGenerated(collection: CredentialCollection, raw: RawMembers, { before }: PrepareOptions): RawMembers {
  const generated = entities[collection].credential?.generated ?? [];
  const secrets = generated.filter((member) => (raw[member] ?? null) === null).map((member) => [member, randomKey()]);
  return { ...raw, ...Object.fromEntries(secrets), id: raw.id ?? before?.id ?? randomUUID() };
}

type BasicAuthCredential = Entities["basicauth_credentials"];

/** Passwords are stored as hashes. As in Kong, responses contain the hash. */
function basicAuthCredentials(derived: EntityOperations): Partial<EntityOperations> {
  const general = { ...derived, ...credentials("basicauth_credentials") };
  return {
    ...general,
    async prepare(raw, how) {
      const { password } = raw;
      const prepared = await general.prepare(raw, how);
      if (typeof password !== "string" || password === "") return prepared;
      const before = how.before as BasicAuthCredential | null;
      const write = { given: password, before, keepsConsumer: false, hash: scryptPassword };
      return { ...prepared, password: await passwordToStore(write) };
    },

    async present(entity, store) {
      const { consumer, password } = entity as BasicAuthCredential;
      return { ...(await general.present(entity, store)), password: documentPassword(consumer.id, password) };
    },

    /**
     * Refuses to move the credential to another consumer without a new password, if the stored hash is only valid for
     * the present consumer.
     */
    async change(call) {
      const before = (await resolveUrl(call)).entity as BasicAuthCredential | null;
      const prepared = await derived.change(call);
      const [write] = prepared.writes;
      const after = (write?.op === "replace" ? write.entity : null) as BasicAuthCredential | null;
      const isMoved = before?.consumer.id !== after?.consumer.id && before?.password === after?.password;
      if (isMoved && isConsumerBound(after?.password ?? "")) throw invalidEntity([NEEDS_PASSWORD]);
      return prepared;
    },
  };
}

/** Kong's message. */
const NEEDS_PASSWORD: Violation = {
  path: ["@entity"],
  message: "all or none of these fields must be set: 'password', 'consumer.id'",
};

/** Converts `ttl`, which clients count from now, to seconds since the credential was created. */
function withLife(raw: RawMembers, before: Entity | null): RawMembers {
  if (typeof raw.ttl !== "number") return raw;
  if (!before) return { ...raw, created_at: now() };
  return { ...raw, created_at: before.created_at, ttl: raw.ttl + now() - before.created_at };
}

/** Consumers can also be looked up by their id in another system: `?custom_id=`. */
const consumers = (derived: EntityOperations): Partial<EntityOperations> => ({
  async list(call) {
    const value = call.query.get("custom_id");
    if (value === null) return derived.list(call);
    if (value === "" || unstorableReason(value) !== undefined) throw badRequest("custom_id must be an unempty string");
    const found = await call.store.find("consumers", { member: "custom_id", value });
    const data = await presentEntities(derived, found ? [found] : [], call.store);
    return { status: 200, body: { data, next: null } };
  },
});

/**
 * Shows members of a plugin's config under their deprecated names too: Kong's clients compare the response with their
 * request, and files dumped from Kong contain both spellings.
 */
const plugins = (derived: EntityOperations): Partial<EntityOperations> => ({
  create: async (call) => checkPluginProtocols(await derived.create(call), call, false),
  upsert: async (call) => checkPluginProtocols(await derived.upsert(call), call, false),
  change: async (call) => checkPluginProtocols(await derived.change(call), call, true),

  async present(entity) {
    const { config, ...members } = entity as Plugin;
    return { ...members, config: withDeprecated(members.name, config) };
  },
});

/**
 * Kong's clients replace whole entities and do not know these members, so a body without one of them leaves it
 * unchanged. Null removes it.
 */
const keeping =
  (...members: readonly string[]) =>
  ({ prepare }: EntityOperations): Partial<EntityOperations> => ({
    async prepare(raw, how) {
      const prepared = await prepare(raw, how);
      const before: RawMembers | null = how.before;
      if (how.isPartial || !before) return prepared;
      const kept = members.filter((member) => !Object.hasOwn(prepared, member));
      return { ...prepared, ...Object.fromEntries(kept.map((member) => [member, before[member]])) };
    },
  });

/**
 * The same for `acme` of certificates. If the body does not have `acme`, the client does not know that Sluice orders the
 * certificate: its `cert` and `key` are old ones that it has read before, so the stored ones stay.
 */
const keptCertificates = (derived: EntityOperations): Partial<EntityOperations> => ({
  ...certificates(derived),
  prepare(raw, how) {
    const before = how.before as Certificate | null;
    if (how.isPartial || before === null || before.acme === null) return raw;
    const { acme, cert, key } = before;
    if (!Object.hasOwn(raw, "acme")) return { ...raw, acme, cert, key };
    const isOrdered = raw.acme !== null && raw.cert === undefined && raw.key === undefined;
    return isOrdered ? { ...raw, cert, key } : raw;
  },
});

/** The same for `grpc_service` of active health checks. */
function upstreams(derived: EntityOperations): Partial<EntityOperations> {
  const { prepare = derived.prepare } = keeping("slow_start_window", "outlier_detection")(derived);
  return {
    async prepare(raw, how) {
      const prepared = await prepare(raw, how);
      const grpc_service = (how.before as Upstream | null)?.healthchecks.active.grpc_service ?? null;
      if (how.isPartial || grpc_service === null) return prepared;
      const { healthchecks = {} } = prepared;
      const active = isRecord(healthchecks) ? (healthchecks.active ?? {}) : undefined;
      if (!isRecord(healthchecks) || !isRecord(active) || Object.hasOwn(active, "grpc_service")) return prepared;
      return { ...prepared, healthchecks: { ...healthchecks, active: { ...active, grpc_service } } };
    },
  };
}

/** As in Kong, PUT merges into an existing target, and creates a missing one. */
const targets = (derived: EntityOperations): Partial<EntityOperations> => ({
  async upsert(call) {
    const { entity, hasOtherParent: foreign } = await resolveUrl(call);
    return entity && !foreign && call.preconditions.noneMatch === undefined
      ? derived.change(call)
      : derived.upsert(call);
  },
});

/** For each collection, the operations that replace the general operations. */
export const collectionOverrides: Partial<
  Record<Collection, (derived: EntityOperations) => Partial<EntityOperations>>
> = {
  ca_certificates: caCertificates,
  certificates: keptCertificates,
  consumers,
  ...Object.fromEntries(credentialCollections.map((collection) => [collection, () => credentials(collection)])),
  basicauth_credentials: basicAuthCredentials,
  consumer_groups: consumerGroups,
  consumer_group_consumers: consumerGroupConsumers,
  plugins,
  services: keeping("upstream_headers", "retry_budget"),
  targets,
  upstreams,
};
