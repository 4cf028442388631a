/** Names, labels and images, as the chart has them (charts/sluice/templates/_names.tpl). */
import type { Image, Values } from "../values.ts";

/** One Sluice: what its objects are called after, where they lie, and with which values. */
export interface Release {
  /** Names of all objects begin with it. */
  readonly name: string;
  /** The home namespace. */
  readonly namespace: string;
  /** Of the images, unless a part says another. */
  readonly version: string;
  readonly values: Values;
}

export type Component = "operator" | "gateway" | "admin" | "user-api" | "postgres" | "redis";

export const nameOf = (release: Release, component: string): string => `${release.name}-${component}`;

/**
 * How long a release's name may be. Names of Services are made of it, and have 63 characters at most. So have labels, and
 * the pods of a StatefulSet have one of its name, a `-` and a hash of ten digits.
 */
export function longestName({ postgres, redis }: Values): { readonly length: number; readonly why: string } {
  if (postgres.enabled) return { length: 43, why: label("postgres") };
  if (redis.enabled) return { length: 46, why: label("redis") };
  return { length: 48, why: ", because names of Services are made of it" };
}

const label = (part: string): string => ` with ${part}.enabled, because a label of its pods is made of it`;

/** Names of what lies in no namespace. */
export const wideName = ({ namespace, name }: Release, component: string): string =>
  `${namespace}-${name}-${component}`;

/** What chooses pods: it never changes. */
export const selectorOf = ({ name }: Release, component: string) => ({
  "app.kubernetes.io/name": "sluice",
  "app.kubernetes.io/instance": name,
  "app.kubernetes.io/component": component,
});

export const labelsOf = (release: Release, component: string): Readonly<Record<string, string>> => ({
  ...selectorOf(release, component),
  "app.kubernetes.io/version": release.version,
  "app.kubernetes.io/managed-by": "Pulumi",
  "app.kubernetes.io/part-of": "sluice",
  ...release.values.labels,
});

/** The metadata of an object in the home namespace; `suffix` is added to its name. */
export const metadataOf = (release: Release, component: string, suffix = "") => ({
  name: `${nameOf(release, component)}${suffix}`,
  namespace: release.namespace,
  labels: labelsOf(release, component),
});

export function imageOf({ version, values }: Release, { repository, tag, digest }: Image): string {
  const registry = values.image.registry === "" ? "" : `${values.image.registry}/`;
  return `${registry}${repository}${digest === "" ? `:${tag || version}` : `@${digest}`}`;
}

/** Namespaces that are read, where not all are: the home namespace is always among them. */
export const namespacesOf = ({ namespace, values }: Release): readonly string[] => [
  ...new Set([namespace, ...values.namespaces]),
];

/** Of the Secrets that only the operator reads. Where Roles alone are wanted, no other namespace is to be had. */
export function privateNamespace(release: Release): string {
  const { operator, namespaces } = release.values;
  if (operator.privateNamespace.name !== "") return operator.privateNamespace.name;
  return namespaces.length > 0 ? release.namespace : wideName(release, "keys");
}

/** Whether there is a webhook: it lies in no namespace, and where Roles are wanted there are no ClusterRoles. */
export const hasWebhook = ({ values }: Release): boolean => values.webhook.enabled && values.namespaces.length === 0;
