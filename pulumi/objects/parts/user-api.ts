/** The user API: Deployment and Service, equal to the chart's. */

import type { KubernetesObject } from "../create.ts";
import { containerPorts, deploymentOf, preStop, serviceOf } from "../deployment.ts";
import { objectName, type Release } from "../names.ts";
import { containerOf, envOf, podProbe, secretEnv } from "../pods.ts";
import { databaseEnv, hasPostgres, redisEnv } from "./databases.ts";

const component = "user-api";

/** The name of the Secret with the text by which the gateway authenticates itself to the user API. */
export const gatewaySecret = (release: Release): string =>
  release.values.userApi.existingSecret || objectName(release, "user-api-gateway");

export function userApiObjects(release: Release): readonly KubernetesObject[] {
  const values = release.values.userApi;
  const { endSeconds, drainSeconds, resources, image } = values;
  const postgres = hasPostgres(release);
  // Migrates the database before a pod of a new version serves; concurrent runs are safe. Waits for a database that
  // starts at the same time.
  const migrate = {
    name: "migrate",
    ...containerOf(release, image),
    args: ["migrate", "60"],
    env: databaseEnv(release),
    resources,
  };
  return [
    serviceOf(release, { component, ports: { http: values.port } }),
    deploymentOf(release, {
      component,
      values,
      replicas: values.replicas,
      surges: true,
      grace: endSeconds + drainSeconds + 10,
      usesApi: false,
      initContainers: postgres ? [migrate] : [],
      container: {
        env: [...settings(release), ...envOf(values.env)],
        ports: containerPorts({ http: 4000 }),
        startupProbe: podProbe({ path: "/healthz", port: "http", period: 2, failures: 60 }),
        livenessProbe: podProbe({ path: "/healthz", port: "http", period: 10, failures: 6 }),
        readinessProbe: podProbe({ path: "/readyz", port: "http", period: 2, failures: 3 }),
        ...preStop(endSeconds),
        ...(postgres ? {} : { volumeMounts: [{ name: "data", mountPath: "/var/lib/sluice" }] }),
      },
      volumes: postgres ? [] : [{ name: "data", emptyDir: {} }],
    }),
  ];
}

function settings(release: Release): readonly object[] {
  const { values } = release;
  return [
    { name: "SLUICE_USER_API_LISTEN", value: "0.0.0.0:4000" },
    secretEnv("SLUICE_USER_API_GATEWAY_SECRET", { name: gatewaySecret(release), key: "secret" }),
    ...(hasPostgres(release)
      ? [...databaseEnv(release), { name: "SLUICE_USER_API_MIGRATE", value: "false" }]
      : [{ name: "SLUICE_USER_API_DATA", value: "/var/lib/sluice/users" }]),
    ...redisEnv(release),
    { name: "SLUICE_USER_API_ACCESS", value: values.userApi.access },
    { name: "SLUICE_USER_API_DRAIN_TIMEOUT", value: `${values.userApi.drainSeconds}s` },
    { name: "SLUICE_USER_API_LOG_LEVEL", value: values.logLevel },
  ];
}
