/** The admin listener: Deployment, Service and RBAC objects, equal to the chart's. */

import type { KubernetesObject } from "../create.ts";
import { containerPorts, deploymentOf, preStop, serviceOf } from "../deployment.ts";
import { namespacesOf, objectName, operatorSecret, type Release } from "../names.ts";
import { pluginsOf } from "../plugins.ts";
import { envOf, podProbe, secretEnv } from "../pods.ts";
import { rightsOf } from "../rbac.ts";

const component = "admin";

/** The name of the Secret with the admin token. */
export const adminSecret = (release: Release): string =>
  release.values.admin.existingSecret || objectName(release, component);

export function adminObjects(release: Release): readonly KubernetesObject[] {
  const values = release.values.admin;
  const plugins = pluginsOf(release, values.resources);
  return [
    ...rightsOf(release, component, values.kubernetes ? ["clusterOnly"] : []),
    serviceOf(release, { component, ports: { admin: values.port } }),
    deploymentOf(release, {
      component,
      values,
      replicas: values.replicas,
      grace: 30,
      usesApi: true,
      initContainers: plugins.initContainers,
      container: {
        env: [...settings(release), ...plugins.env, ...envOf(values.env)],
        ports: containerPorts({ admin: 8001 }),
        startupProbe: podProbe({ path: "/status", port: "admin", period: 2, failures: 30 }),
        livenessProbe: podProbe({ path: "/status", port: "admin", period: 10, failures: 6 }),
        readinessProbe: podProbe({ path: "/status", port: "admin", period: 2, failures: 3 }),
        ...preStop(5),
        ...(plugins.mounts.length === 0 ? {} : { volumeMounts: plugins.mounts }),
      },
      volumes: plugins.volumes,
    }),
  ];
}

function settings(release: Release): readonly object[] {
  const { name, namespace, values } = release;
  const { kubernetes, origins } = values.admin;
  return [
    { name: "SLUICE_STORE", value: "cluster" },
    { name: "SLUICE_ADMIN_LISTEN", value: "0.0.0.0:8001" },
    secretEnv("SLUICE_ADMIN_TOKEN", { name: adminSecret(release), key: "token" }),
    ...(kubernetes ? [{ name: "SLUICE_ADMIN_KUBERNETES", value: "true" }] : []),
    ...(origins.length === 0 ? [] : [{ name: "SLUICE_ADMIN_ORIGINS", value: origins.join(",") }]),
    { name: "SLUICE_HOME_NAMESPACE", value: namespace },
    { name: "SLUICE_CLASS", value: values.class },
    ...(values.namespaces.length === 0 ? [] : [{ name: "SLUICE_NAMESPACES", value: namespacesOf(release).join(",") }]),
    { name: "SLUICE_OPERATOR_URL", value: `http://${name}-operator:8080` },
    secretEnv("SLUICE_OPERATOR_TOKEN", { name: operatorSecret(release), key: "token" }),
    { name: "SLUICE_LOG_LEVEL", value: values.logLevel },
  ];
}
