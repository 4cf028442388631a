/** KongConsumers, KongConsumerGroups, credentials, CA certificates and KongVaults. */
import type { ManifestObject } from "@sluice/crds";
import { CREDENTIAL_LABEL, type CredentialCollection, derivedIdOf } from "@sluice/model";
import type { AttachTo } from "./attachments.ts";
import { annotationField, type Conversion } from "./conversion.ts";
import {
  annotationsAt,
  dataEntries,
  type KongObjects,
  labelsAt,
  listOf,
  namespaceOf,
  nonEmptyText,
  recordOf,
} from "./objects.ts";
import { writableMetadata } from "./writable-metadata.ts";

type Members = Readonly<Record<string, unknown>>;

export interface ConsumerOptions {
  readonly objects: KongObjects;
  readonly conversion: Conversion;
  readonly attach: (plugins: AttachTo) => void;
  readonly isOwn: (object: ManifestObject) => boolean;
}

/** The values of the label of a credential's Secret, and the collections. Null: Sluice has no such credentials. */
const credentialTypes: Readonly<Record<string, CredentialCollection | null>> = {
  "key-auth": "keyauth_credentials",
  keyauth_credential: "keyauth_credentials",
  "basic-auth": "basicauth_credentials",
  basicauth_credential: "basicauth_credentials",
  "hmac-auth": "hmacauth_credentials",
  hmacauth_credential: "hmacauth_credentials",
  jwt: "jwt_secrets",
  jwt_secret: "jwt_secrets",
  acl: "acls",
  "mtls-auth": "mtls_auth_credentials",
  oauth2: null,
};

const TYPE_LABEL = "konghq.com/credential";

const tagsOf = (object: ManifestObject): Members => {
  const tags = (annotationsAt(object)["konghq.com/tags"] ?? "").split(",").map((tag) => tag.trim());
  return tags.some((tag) => tag !== "") ? { tags: tags.filter((tag) => tag !== "") } : {};
};

const tagPaths = { tags: annotationField("konghq.com/tags") };

export function convertConsumers(options: ConsumerOptions): void {
  const groups = convertGroups(options);
  for (const consumer of options.objects.all("KongConsumer")) {
    if (!isRead(consumer, options)) continue;
    convertConsumer(consumer, groups, options);
  }
}

/** Whether Kong's controller reads the object, which needs its class. If it does not, the report has a remark. */
function isRead(object: ManifestObject, { conversion, isOwn }: ConsumerOptions): boolean {
  if (isOwn(object)) {
    conversion.objects.add(object);
    return true;
  }
  const message =
    "has no annotation kubernetes.io/ingress.class of this class, so Kong does not read it; not converted";
  conversion.remark({ object, path: [] }, message);
  return false;
}

/** The ids of the groups, by namespace and name. */
function convertGroups(options: ConsumerOptions): ReadonlyMap<string, string> {
  const { objects, conversion, attach } = options;
  const ids = new Map<string, string>();
  for (const object of objects.all("KongConsumerGroup")) {
    if (!isRead(object, options)) continue;
    const { name } = object.metadata;
    const namespace = namespaceOf(object);
    const id = conversion.add("consumer_groups", { name, ...tagsOf(object) }, { object, name, paths: tagPaths });
    ids.set(`${namespace}/${name}`, id);
    attach({ target: { id, kind: "ConsumerGroup", name, namespace }, object });
  }
  return ids;
}

function convertConsumer(object: ManifestObject, groups: ReadonlyMap<string, string>, options: ConsumerOptions): void {
  const { conversion, attach } = options;
  const { name } = object.metadata;
  const namespace = namespaceOf(object);
  const [username, customId] = [nonEmptyText(object.username), nonEmptyText(object.custom_id)];
  const id = conversion.add(
    "consumers",
    {
      ...(username !== undefined && { username }),
      ...(customId !== undefined && { custom_id: customId }),
      ...tagsOf(object),
    },
    { object, name, paths: { username: ["username"], custom_id: ["custom_id"], ...tagPaths } },
  );
  attach({ target: { id, kind: "Consumer", name, namespace }, object });
  for (const [index, group] of listOf(object.consumerGroups).entries()) {
    const groupId = groups.get(`${namespace}/${group}`);
    const path = ["consumerGroups", index];
    if (groupId === undefined)
      conversion.omit(
        { object, path },
        `there is no KongConsumerGroup ${group} of this class among the objects: add it`,
      );
    else {
      const members = { consumer: { id }, consumer_group: { id: groupId } };
      const entry = { ...members, id: derivedIdOf("consumer_group_consumers", members) };
      conversion.addEntry("consumer_group_consumers", entry, { object, paths: { consumer_group: path } });
    }
  }
  for (const [index, secret] of listOf(object.credentials).entries())
    addCredential({ consumer: id, object, path: ["credentials", index] }, String(secret), options);
}

interface CredentialPlace {
  readonly consumer: string;
  readonly object: ManifestObject;
  readonly path: readonly (string | number)[];
}

function addCredential(
  { consumer, object, path }: CredentialPlace,
  name: string,
  { objects, conversion }: ConsumerOptions,
): void {
  const secret = objects.find("Secret", namespaceOf(object), name);
  const type = secret && labelsAt(secret)[TYPE_LABEL];
  const collection = type === undefined ? undefined : credentialTypes[type];
  if (collection === null) {
    conversion.omit(
      { object: secret ?? object, path: ["metadata", "labels", TYPE_LABEL] },
      "oauth2 is not supported: let an authorization server issue tokens, and verify them with the plugin openid-connect",
    );
    return;
  }
  if (secret === undefined || collection === undefined) {
    // A membership without a group, which is invalid. Its group may be one that an acl plugin denies: such plugins are
    // closed.
    const members = { consumer: { id: consumer }, group: null, tags: [name] };
    const reason = secret
      ? `the Secret ${name} has no label ${TYPE_LABEL} with a type of credentials`
      : `there is no Secret ${name} with the label ${TYPE_LABEL} among the objects: add it`;
    conversion.addEntry(
      "acls",
      { ...members, id: derivedIdOf("acls", members) },
      { object, paths: { group: path }, reason },
    );
    return;
  }
  const { ttl, hash_secret: _hash, ...data } = dataEntries(secret);
  const { ca_certificate: authority, ...texts } = data;
  const members = {
    ...texts,
    consumer: { id: consumer },
    ...(authority !== undefined && { ca_certificate: { id: authority } }),
    ...(ttl !== undefined && /^\d+$/.test(ttl) && { ttl: Number(ttl) }),
    ...tagsOf(secret),
  };
  conversion.objects.add(secret);
  const entry = { ...members, id: derivedIdOf(collection, members) };
  conversion.addEntry(collection, entry, {
    object: secret,
    paths: Object.fromEntries(Object.keys(data).map((key) => [key, ["data", key]])),
  });
  if (collection === "acls" || collection === "mtls_auth_credentials") return;
  const metadata = writableMetadata(secret);
  const labels = { ...metadata.labels, [CREDENTIAL_LABEL]: type };
  const { stringData } = secret;
  const resource = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { ...metadata, name, namespace: namespaceOf(secret), labels },
    ...(nonEmptyText(secret.type) && { type: nonEmptyText(secret.type) }),
    ...(secret.data !== undefined && { data: recordOf(secret.data) as Readonly<Record<string, string>> }),
    ...(stringData !== undefined && { stringData }),
  };
  conversion.addResource(resource as never, secret);
}

/** CA certificates in Secrets and ConfigMaps with the label konghq.com/ca-cert. */
export function convertAuthorities({ objects, conversion }: Pick<ConsumerOptions, "objects" | "conversion">): void {
  for (const object of [...objects.all("Secret"), ...objects.all("ConfigMap")]) {
    if (labelsAt(object)["konghq.com/ca-cert"] !== "true") continue;
    conversion.objects.add(object);
    const { id, cert, "ca.crt": authority } = dataEntries(object);
    const members = { ...(id !== undefined && { id: id.trim() }), cert: cert ?? authority };
    const name = conversion.nameFor("CACertificate", namespaceOf(object), object.metadata.name);
    conversion.add("ca_certificates", members, { object, name, paths: { id: ["data", "id"], cert: ["data"] } });
  }
}

export function convertVaults(options: ConsumerOptions): void {
  const { objects, conversion } = options;
  for (const object of objects.all("KongVault")) {
    if (!isRead(object, options)) continue;
    const { backend, prefix, description, config } = recordOf(object.spec);
    const members = {
      name: backend,
      prefix,
      ...(description !== undefined && { description }),
      ...(config !== undefined && { config }),
    };
    const paths = { name: ["spec", "backend"], prefix: ["spec", "prefix"], config: ["spec", "config"] };
    const { name } = object.metadata;
    conversion.add("vaults", members, { object, name, namespace: conversion.homeNamespace, paths });
  }
}
