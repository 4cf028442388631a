/**
 * The Secrets that the admin listener creates: keys, certificates with their keys, passwords of plugins. A Secret is
 * never changed: one write moves the references to a new Secret, and the old one is removed after that. A crash in
 * between leaves an unreferenced Secret that grants no access; the next start removes it.
 */
import { randomBytes } from "node:crypto";
import {
  certificateSecret,
  credentialSecret,
  isManaged,
  MANAGED_BY,
  namespacedName,
  type Ref,
  type Resource,
} from "@sluice/crds";
import {
  type Certificate,
  type ConfigFrom,
  CREDENTIAL_LABEL,
  type CredentialCollection,
  credentialCollections,
  type Entities,
  entities,
  type NameRef,
  type Plugin,
  type SecretRef,
  type Violation,
} from "@sluice/model";
import type { Resources } from "../view/build-view.ts";

/**
 * The place of a resource's Secrets, and the Secrets and violations that are collected while the resource is computed.
 */
export interface SecretPlace {
  /** The namespace of the resource. */
  readonly namespace: string;
  readonly homeNamespace: string;
  readonly existing: Resources["Secret"];
  /** The Secrets to create. */
  readonly secrets: Resource[];
  /** Why the Secrets cannot be created. */
  readonly violations: Violation[];
}

/** Plans the Secret of a credential. Returns the reference to it; undefined when the credential has no secret. */
export function addCredentialSecret<Name extends CredentialCollection>(
  collection: Name,
  credential: Entities[Name],
  place: SecretPlace,
): SecretRef | undefined {
  const made = credentialSecret(collection, credential, place);
  return made ? { ...made.secretRef, name: addSecret(made.secret, place, ["consumer"]) } : undefined;
}

export const certificatePairSecret = (certificate: Certificate, place: SecretPlace): NameRef => ({
  name: addSecret(certificateSecret(certificate, place).secret, place, ["cert"]),
});

/** @param values By their path in the config: `redis.password`. */
export function configSecret(
  { id }: Pick<Plugin, "id">,
  values: ReadonlyMap<string, string>,
  place: SecretPlace,
): readonly ConfigFrom[] {
  const { namespace } = place;
  const [first = ""] = values.keys();
  const encoded = [...values].map(([path, value]) => [path, Buffer.from(value, "utf8").toString("base64")]);
  const secret: Resource = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `plugin-${id}`, namespace, labels: { [CREDENTIAL_LABEL]: "config" } },
    type: "Opaque",
    data: Object.fromEntries(encoded),
  };
  const name = addSecret(secret, place, ["config", ...first.split(".")]);
  return [...values.keys()].map((path) => ({ path, secretRef: { name, key: path } }));
}

/**
 * Plans a Secret and returns its name, which reveals nothing of the content: users who may not read Secrets may read
 * the resources that refer to them. A Secret must be in the namespace of its resource, and the admin listener may only
 * write Secrets of the home namespace.
 */
function addSecret(
  secret: Resource,
  { namespace, homeNamespace, existing, secrets, violations }: SecretPlace,
  path: Violation["path"],
): string {
  if (namespace !== homeNamespace) {
    const message =
      `its resource is in the namespace ${namespace}, but Secrets are written in ${homeNamespace} only: create a ` +
      `Secret in ${namespace} and refer to it in the resource`;
    violations.push({ path, message });
  }
  const { name: wanted, labels, ...metadata } = secret.metadata;
  const isTaken = existing.has(namespacedName(namespace, wanted));
  const name = isTaken ? `${wanted}-${randomBytes(4).toString("hex")}` : wanted;
  const marked = { ...labels, [MANAGED_BY.label]: MANAGED_BY.value };
  secrets.push({ ...secret, metadata: { ...metadata, name, labels: marked } });
  return name;
}

/** Lists in specs whose entries refer to Secrets. */
const LISTS: readonly string[] = [
  "configFrom",
  "upstreamHeaders",
  ...credentialCollections.flatMap((collection) => entities[collection].credential?.list ?? []),
];

/**
 * Names of a namespace's Secrets that a spec refers to.
 *
 * @param at `of` is the namespace of the Secrets, `own` the namespace of the resource with the spec.
 */
export function secretNames(
  spec: Resource["spec"] = {},
  at: { readonly of: string; readonly own: string },
): readonly string[] {
  const lists = LISTS.flatMap((name) => {
    const list = spec[name];
    return Array.isArray(list) ? list : [];
  });
  const entries = lists.flatMap((entry): readonly unknown[] => {
    const { configFrom } = Object(entry) as { readonly configFrom?: unknown };
    return Array.isArray(configFrom) ? [entry, ...configFrom] : [entry];
  });
  const refs = [...entries.map((entry) => Object(entry).secretRef), spec.secretRef];
  return refs.flatMap((ref) => {
    const { name, namespace = at.own } = Object(ref) as { readonly name?: unknown; readonly namespace?: unknown };
    return typeof name === "string" && namespace === at.of ? [name] : [];
  });
}

/**
 * The admin listener's own Secrets in the home namespace to which no resource refers. References of resources of every
 * class and namespace count.
 *
 * @param but Resources that are about to change, with their new specs; null: they are about to be removed.
 */
export function unusedSecrets(
  resources: Resources,
  { homeNamespace, but = new Map() }: { homeNamespace: string; but?: ReadonlyMap<Resource, Resource["spec"] | null> },
): readonly Resource[] {
  const used = new Set(
    [resources.Consumer, resources.Certificate, resources.Plugin, resources.Service].flatMap((kind) =>
      [...kind.values()].flatMap((resource) => {
        const next = but.has(resource) ? but.get(resource) : resource.spec;
        return next ? secretNames(next, { of: homeNamespace, own: resource.metadata.namespace }) : [];
      }),
    ),
  );
  return [...resources.Secret.values()].filter((secret) => isManaged(secret) && !used.has(secret.metadata.name));
}

export const refOfSecret = ({ metadata: { namespace, name } }: Resource): Ref => ({ kind: "Secret", namespace, name });
