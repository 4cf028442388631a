/** Names, labels (except managed-by) and images, equal to the chart's (charts/sluice/templates/_names.tpl). */
import type { Values } from "../values.d.ts";

/** The values that all parts with a Deployment have. */
export type Workload = Omit<Values["operator"], "privateNamespace" | "existingSecret">;

export interface Release {
  /** The prefix of the names of objects in the home namespace. */
  readonly name: string;
  readonly namespace: string;
  /** The tag of the images, unless a part sets a tag or a digest. */
  readonly version: string;
  readonly values: Values;
  /** Whether the cluster has the CRDs of the Gateway API. */
  readonly hasGatewayApi: boolean;
}

export type Component = "operator" | "gateway" | "admin" | "user-api" | "postgres" | "redis";

export const objectName = (release: Release, component: string): string => `${release.name}-${component}`;

/**
 * The maximum length of a release's name. Names of Services derive from it and have at most 63 characters. Values of
 * labels have the same limit, and the label `controller-revision-hash` of a StatefulSet's pods consists of the
 * StatefulSet's name, a `-` and a hash of ten digits.
 */
export function longestName({ postgres, redis }: Values): { readonly length: number; readonly why: string } {
  if (postgres.enabled) return { length: 43, why: label("postgres") };
  if (redis.enabled) return { length: 46, why: label("redis") };
  return { length: 48, why: ", because names of Services are derived from it" };
}

const label = (part: string): string => ` with ${part}.enabled, because a label of its pods is derived from it`;

/** The name of an object that is cluster-scoped or may be outside the home namespace. */
export const wideName = ({ namespace, name }: Release, component: string): string =>
  `${namespace}-${name}-${component}`;

/** The selector of a part's pods: it is immutable. */
export const selectorOf = ({ name }: Release, component: string) => ({
  "app.kubernetes.io/name": "sluice",
  "app.kubernetes.io/instance": name,
  "app.kubernetes.io/component": component,
});

/**
 * The selector of all nodes, for policies and monitoring: those of the release, and those that the operator creates for
 * single Gateways.
 */
export function nodeSelectorOf(release: Release): object {
  const { "app.kubernetes.io/component": component, ...matchLabels } = selectorOf(release, "gateway");
  if (!release.values.gatewayApi.dedicatedNodes.enabled) return { matchLabels: selectorOf(release, "gateway") };
  const values = [component, "gateway-fleet"];
  return { matchLabels, matchExpressions: [{ key: "app.kubernetes.io/component", operator: "In", values }] };
}

export const labelsOf = (release: Release, component: string): Readonly<Record<string, string>> => ({
  ...selectorOf(release, component),
  "app.kubernetes.io/version": release.version,
  "app.kubernetes.io/managed-by": "Pulumi",
  "app.kubernetes.io/part-of": "sluice",
  ...release.values.labels,
});

/**
 * The name of the Secret with the push certificates of operator and nodes. By default the operator creates this Secret
 * and the Secret of the certificate authority.
 */
export const pushSecret = (release: Release): string =>
  release.values.push.existingSecret || objectName(release, "push");

/** The name of the Secret with the token that the admin API sends to the operator. */
export const operatorSecret = (release: Release): string =>
  release.values.operator.existingSecret || objectName(release, "operator");

/** The metadata of an object in the home namespace; `suffix` is added to its name. */
export const metadataOf = (release: Release, component: string, suffix = "") => ({
  name: `${objectName(release, component)}${suffix}`,
  namespace: release.namespace,
  labels: labelsOf(release, component),
});

export function imageOf({ version, values }: Release, { repository, tag, digest }: Workload["image"]): string {
  const registry = values.image.registry === "" ? "" : `${values.image.registry}/`;
  return `${registry}${repository}${digest === "" ? `:${tag || version}` : `@${digest}`}`;
}

/** The namespaces to read if not all are read; always includes the home namespace. */
export const namespacesOf = ({ namespace, values }: Release): readonly string[] => [
  ...new Set([namespace, ...values.namespaces]),
];

/** The namespace of Secrets that only the operator reads. If `namespaces` is set, the default is the home namespace. */
export function privateNamespace(release: Release): string {
  const { operator, namespaces } = release.values;
  if (operator.privateNamespace.name !== "") return operator.privateNamespace.name;
  return namespaces.length > 0 ? release.namespace : wideName(release, "keys");
}

/**
 * Whether the release has a webhook. An installation that is limited to some namespaces has none, because a webhook is
 * cluster-scoped and needs a ClusterRole.
 */
export const hasWebhook = ({ values }: Release): boolean => values.webhook.enabled && values.namespaces.length === 0;
