/** Checks of a release as a whole; charts/sluice/templates/checks.yaml contains the same checks. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { labelsOf, longestName, namespacesOf, privateNamespace, type Release } from "./objects/names.ts";
import { hasPostgres, redisAddressOf } from "./objects/parts/databases.ts";

/** An error in the values or in the name of a release. */
export interface ValuesFault {
  /** Such as `gateway.replicas`, `plugins.images[0]` or `labels["team"]`. Empty for an error in the release's name. */
  readonly path: string;
  /** What is wrong: where possible, the expected and the actual value. */
  readonly message: string;
  /** True if no value would be valid, so that the member must be removed. */
  readonly surplus?: true;
}

/** All errors of a release whose values match the chart's schema. */
export const releaseFaults = (release: Release): readonly ValuesFault[] => [
  ...nameFaults(release),
  ...contradictions(release),
  ...pluginFaults(release),
  ...variableFaults(release),
  ...labelFaults(release),
];

const fault = (wrong: boolean, path: string, message: string): readonly ValuesFault[] =>
  wrong ? [{ path, message }] : [];

function nameFaults({ name, values }: Release): readonly ValuesFault[] {
  const { length, why } = longestName(values);
  return [
    ...fault(
      !/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name),
      "",
      `the name ${name} cannot be a prefix of Service names: it must consist of lower-case letters, digits and -, begin with a letter and not end with -`,
    ),
    ...fault(name.length > length, "", `the name ${name} is too long: ${length} characters at most${why}`),
  ];
}

function contradictions(release: Release): readonly ValuesFault[] {
  const { namespaces, namespaceSelector, admin, postgres, redis, userApi, gateway } = release.values;
  const { publishService, publishStatusAddress, gatewayApi } = release.values;
  const { enabled, minReplicas, maxReplicas } = gateway.autoscaling;
  const [publishNamespace = ""] = publishService.pathOverride.split("/");
  return [
    ...fault(
      privateNamespace(release).length > 63,
      "operator.privateNamespace.name",
      `${privateNamespace(release)} is too long for a namespace: set this to a name of at most 63 characters`,
    ),
    ...fault(
      namespaces.length > 0 && namespaceSelector !== "",
      "namespaceSelector",
      "set this or namespaces, not both",
    ),
    ...fault(
      namespaces.length > 0 && admin.enabled && admin.kubernetes,
      "admin.kubernetes",
      "it requires a ClusterRole, which is not created if namespaces is set: set only one of them",
    ),
    ...fault(
      publishService.pathOverride !== "" && publishStatusAddress.length > 0,
      "publishService.pathOverride",
      "set this or publishStatusAddress, not both",
    ),
    ...fault(
      publishService.pathOverride !== "" && namespaces.length > 0 && !namespacesOf(release).includes(publishNamespace),
      "publishService.pathOverride",
      `the operator does not read the namespace ${publishNamespace}: add it to namespaces`,
    ),
    ...fault(
      gatewayApi.firstPort > gatewayApi.lastPort,
      "gatewayApi.firstPort",
      `must be at most gatewayApi.lastPort (${gatewayApi.lastPort}), not ${gatewayApi.firstPort}`,
    ),
    ...gateway.streams.flatMap(({ port }, index) =>
      fault(
        port >= gatewayApi.firstPort && port <= gatewayApi.lastPort,
        `gateway.streams[${index}].port`,
        `${port} is one of the ports that nodes open for Gateways (gatewayApi.firstPort ${gatewayApi.firstPort} to lastPort ${gatewayApi.lastPort}): choose another port, or another range`,
      ),
    ),
    ...fault(
      postgres.enabled && postgres.existingSecret !== "",
      "postgres.existingSecret",
      "set this or postgres.enabled, not both",
    ),
    ...fault(redis.enabled && redis.host !== "", "redis.host", "set this or redis.enabled, not both"),
    ...fault(
      userApi.enabled && userApi.replicas > 1 && !hasPostgres(release),
      "userApi.replicas",
      "more than one replica requires a Postgres server: set postgres.enabled or postgres.existingSecret",
    ),
    ...fault(
      userApi.route.enabled && !userApi.enabled,
      "userApi.route.enabled",
      "the route requires the user API: set userApi.enabled",
    ),
    ...fault(
      enabled && minReplicas > maxReplicas,
      "gateway.autoscaling.minReplicas",
      `must be at most maxReplicas (${maxReplicas}), not ${minReplicas}`,
    ),
  ];
}

function pluginFaults({ values }: Release): readonly ValuesFault[] {
  return values.plugins.images.flatMap((image, index) =>
    fault(
      !/^[^@\s]+@sha256:[0-9a-f]{64}$/.test(image),
      `plugins.images[${index}]`,
      `expected a reference with a digest, such as images.example.com/acme/sluice-plugin-x@sha256:… (64 hexadecimal digits), not ${image}: a tag may name other code later`,
    ),
  );
}

type Part = "operator" | "gateway" | "admin" | "userApi";

type Variables = Readonly<Record<string, string>>;

/**
 * By variable: the path of the chart's value that sets it; empty if no value does. `with` has the variables that are
 * set only if a Postgres server, a Redis server or an image of a plugin is configured.
 */
type Listed = Variables & { readonly with?: Readonly<Partial<Record<"postgres" | "redis" | "plugins", Variables>>> };

const ownVariables: Readonly<Record<Part, Listed>> = parse(
  readFileSync(new URL("../charts/sluice/files/own-variables.yaml", import.meta.url), "utf8"),
);

const OWN = "the chart's own: other objects rely on it";

function variableFaults(release: Release): readonly ValuesFault[] {
  return Object.entries(ownVariables).flatMap(([part, { with: optional, ...always }]) => {
    const variables: Variables = {
      ...always,
      ...(hasPostgres(release) ? optional?.postgres : {}),
      ...(redisAddressOf(release) === undefined ? {} : optional?.redis),
      ...(release.values.plugins.images.length === 0 ? {} : optional?.plugins),
    };
    const { env } = release.values[part as Part];
    return Object.entries(variables)
      .filter(([name]) => Object.hasOwn(env, name))
      .map(([name, value]) => ({
        path: `${part}.env.${name}`,
        message: value === "" ? `this variable is ${OWN}` : `${value} sets this variable: set that instead`,
        surplus: true as const,
      }));
  });
}

/** The chart's own labels select pods and identify the owner of an object, so the values must not set them. */
function labelFaults(release: Release): readonly ValuesFault[] {
  const { labels, monitoring } = release.values;
  const own = Object.keys(labelsOf({ ...release, values: { ...release.values, labels: {} } }, "operator"));
  return Object.entries({
    labels,
    "monitoring.serviceMonitors.labels": monitoring.serviceMonitors.labels,
    "monitoring.rules.labels": monitoring.rules.labels,
    "monitoring.dashboards.labels": monitoring.dashboards.labels,
  }).flatMap(([path, given]) =>
    own
      .filter((label) => Object.hasOwn(given, label))
      .map((label) => ({ path: `${path}["${label}"]`, message: `this label is ${OWN}`, surplus: true })),
  );
}
