/** The operator: Deployment, Service, RBAC objects and webhook, equal to the chart's. */
import { readFileSync } from "node:fs";
import { CLASS_LABEL, gatewayController, ingressController } from "@sluice/model";
import { parse } from "yaml";
import type { KubernetesObject } from "../create.ts";
import { containerPorts, deploymentOf, serviceOf } from "../deployment.ts";
import {
  hasWebhook,
  labelsOf,
  namespacesOf,
  objectName,
  operatorSecret,
  privateNamespace,
  pushSecret,
  type Release,
  selectorOf,
  wideName,
} from "../names.ts";
import { pluginsOf } from "../plugins.ts";
import { envOf, podProbe, pushVolume, secretEnv } from "../pods.ts";
import { rightsOf } from "../rbac.ts";

const component = "operator";

export function operatorObjects(release: Release): readonly KubernetesObject[] {
  const webhook = hasWebhook(release);
  return [
    ...rightsOf(release, component, ["clusterOnly", ...(webhook ? ["webhook" as const] : [])]),
    ...(webhook ? webhookObjects(release) : []),
    ...ingressClass(release),
    ...gatewayClasses(release),
    ...classLeases(release),
    serviceOf(release, { component, ports: { http: 8080 } }),
    deployment(release),
  ];
}

/** The namespace of Secrets that only the operator reads, if the release creates it. */
export function privateNamespaceObjects(release: Release): readonly KubernetesObject[] {
  const { operator, namespaces } = release.values;
  const name = privateNamespace(release);
  if (!operator.privateNamespace.create || namespaces.length > 0 || name === release.namespace) return [];
  const labels = { ...labelsOf(release, component), "pod-security.kubernetes.io/enforce": "restricted" };
  return [{ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } }];
}

function deployment(release: Release): KubernetesObject {
  const values = release.values.operator;
  const webhook = hasWebhook(release);
  const push = ownPush(release);
  const plugins = pluginsOf(release, values.resources);
  const acme = acmeAuthorities(release);
  const volumeMounts = [...(push === null ? [] : [push.mount]), ...acme.mounts, ...plugins.mounts];
  return deploymentOf(release, {
    component,
    values,
    replicas: values.replicas,
    grace: 30,
    usesApi: true,
    initContainers: plugins.initContainers,
    container: {
      env: [...settings(release), ...plugins.env, ...envOf(values.env)],
      ports: containerPorts({ http: 8080, ...(webhook ? { webhook: 9443 } : {}) }),
      startupProbe: podProbe({ path: "/healthz", port: "http", period: 2, failures: 30 }),
      livenessProbe: podProbe({ path: "/healthz", port: "http", period: 10, failures: 6 }),
      readinessProbe: podProbe({ path: "/readyz", port: "http", period: 2, failures: 3 }),
      ...(volumeMounts.length === 0 ? {} : { volumeMounts }),
    },
    volumes: [...(push === null ? [] : [push.volume]), ...acme.volumes, ...plugins.volumes],
  });
}

/** Volume, mount and settings of existing push certificates; null: there are none, and the operator creates them. */
function ownPush({ values }: Release) {
  return values.push.existingSecret === "" ? null : pushVolume(values.push.existingSecret, component);
}

function settings(release: Release): readonly object[] {
  const { name, namespace, values } = release;
  return [
    { name: "SLUICE_OPERATOR_LISTEN", value: "0.0.0.0:8080" },
    ...(values.admin.enabled
      ? [secretEnv("SLUICE_OPERATOR_TOKEN", { name: operatorSecret(release), key: "token" })]
      : []),
    { name: "SLUICE_HOME_NAMESPACE", value: namespace },
    { name: "SLUICE_PRIVATE_NAMESPACE", value: privateNamespace(release) },
    { name: "SLUICE_CLASS", value: values.class },
    ...(values.namespaces.length === 0 ? [] : [{ name: "SLUICE_NAMESPACES", value: namespacesOf(release).join(",") }]),
    ...(values.namespaceSelector === ""
      ? []
      : [{ name: "SLUICE_NAMESPACE_SELECTOR", value: values.namespaceSelector }]),
    { name: "SLUICE_NODE_SERVICE", value: `${namespace}/${name}-gateway-push` },
    ...(values.gatewayApi.dedicatedNodes.enabled
      ? [{ name: "SLUICE_NODE_DEPLOYMENT", value: `${namespace}/${objectName(release, "gateway")}` }]
      : []),
    { name: "SLUICE_GATEWAY_SERVICE_TYPE", value: values.gatewayApi.serviceType },
    { name: "SLUICE_GATEWAY_TRAFFIC_POLICY", value: values.gatewayApi.externalTrafficPolicy },
    { name: "SLUICE_GATEWAY_FIRST_PORT", value: `${values.gatewayApi.firstPort}` },
    { name: "SLUICE_GATEWAY_LAST_PORT", value: `${values.gatewayApi.lastPort}` },
    ...publishedAddresses(release),
    // The pod's uid stays the same when its container restarts, so the operator still holds the Lease.
    { name: "SLUICE_IDENTITY", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } },
    ...(ownPush(release)?.env ?? [{ name: "SLUICE_PUSH_SECRET", value: pushSecret(release) }]),
    ...(hasWebhook(release)
      ? [
          { name: "SLUICE_WEBHOOK_LISTEN", value: "0.0.0.0:9443" },
          { name: "SLUICE_WEBHOOK_NAME", value: wideName(release, "webhook") },
        ]
      : []),
    ...acmeSettings(release),
    { name: "SLUICE_LOG_LEVEL", value: values.logLevel },
  ];
}

const ACME_FOLDER = "/etc/sluice/acme";

function acmeSettings({ values }: Release): readonly object[] {
  const { enabled, directories, email, caConfigMap, existingSecret } = values.acme;
  if (!enabled) return [];
  return [
    { name: "SLUICE_ACME", value: "true" },
    ...(directories.length === 0 ? [] : [{ name: "SLUICE_ACME_DIRECTORIES", value: directories.join(",") }]),
    ...(email === "" ? [] : [{ name: "SLUICE_ACME_EMAIL", value: email }]),
    ...(caConfigMap === "" ? [] : [{ name: "SLUICE_ACME_CA_FILE", value: `${ACME_FOLDER}/ca.crt` }]),
    ...(existingSecret === ""
      ? []
      : [
          secretEnv("SLUICE_ACME_EAB_KID", { name: existingSecret, key: "kid" }),
          secretEnv("SLUICE_ACME_EAB_HMAC_KEY", { name: existingSecret, key: "hmac-key" }),
        ]),
  ];
}

/** The volume with the CA certificates of ACME servers, and its mount. */
function acmeAuthorities({ values }: Release): {
  readonly mounts: readonly object[];
  readonly volumes: readonly object[];
} {
  const { enabled, caConfigMap } = values.acme;
  if (!enabled || caConfigMap === "") return { mounts: [], volumes: [] };
  const configMap = { name: caConfigMap, items: [{ key: "ca.crt", path: "ca.crt" }] };
  return {
    mounts: [{ name: "acme", mountPath: ACME_FOLDER, readOnly: true }],
    volumes: [{ name: "acme", configMap }],
  };
}

/** The setting that determines the addresses in the statuses of Ingresses. */
function publishedAddresses(release: Release): readonly object[] {
  const { publishService, publishStatusAddress } = release.values;
  if (publishStatusAddress.length > 0)
    return [{ name: "SLUICE_PUBLISH_ADDRESSES", value: publishStatusAddress.join(",") }];
  if (!publishService.enabled) return [];
  const own = `${release.namespace}/${objectName(release, "gateway")}`;
  return [{ name: "SLUICE_PUBLISH_SERVICE", value: publishService.pathOverride || own }];
}

function webhookObjects(release: Release): readonly KubernetesObject[] {
  const { namespace, values } = release;
  const file = readFileSync(new URL("../../../charts/sluice/files/webhook.yaml", import.meta.url), "utf8");
  const places = [...new Set([namespace, ...values.classlessNamespaces])].join("', '");
  const own = values.class === "sluice" ? "" : `request.namespace in ['${places}'] ? '${values.class}' : `;
  const webhook = parse(file.replace("'sluice') == 'sluice'", `${own}'sluice') == '${values.class}'`));
  const name = objectName(release, "webhook");
  const labels = labelsOf(release, component);
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: { name: wideName(release, "webhook"), labels },
      webhooks: [{ ...webhook, clientConfig: { service: { namespace, name, path: "/validate" } } }],
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace, labels },
      spec: {
        selector: selectorOf(release, component),
        ports: [{ name: "webhook", port: 443, targetPort: "webhook" }],
      },
    },
  ];
}

/** None in a release that is limited to some namespaces, because an IngressClass is cluster-scoped. */
function ingressClass(release: Release): readonly KubernetesObject[] {
  const { ingressClass, namespaces, class: className } = release.values;
  if (!ingressClass.create || namespaces.length > 0) return [];
  const annotations = { "ingressclass.kubernetes.io/is-default-class": "true" };
  const metadata = {
    name: ingressClass.name || className,
    labels: labelsOf(release, component),
    ...(ingressClass.default ? { annotations } : {}),
  };
  const spec = { controller: ingressController(className) };
  return [{ apiVersion: "networking.k8s.io/v1", kind: "IngressClass", metadata, spec }];
}

/**
 * The GatewayClass whose Gateways have nodes of their own, with its parameters, and the one whose Gateways share the
 * release's nodes. None in a release that is limited to some namespaces, because a GatewayClass is cluster-scoped.
 */
function gatewayClasses(release: Release): readonly KubernetesObject[] {
  const { gatewayClass, gatewayApi, namespaces, class: className } = release.values;
  if (!gatewayClass.create || namespaces.length > 0 || !release.hasGatewayApi) return [];
  const name = gatewayClass.name || className;
  const labels = labelsOf(release, component);
  const classOf = (name: string, spec: object): KubernetesObject => ({
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "GatewayClass",
    metadata: { name, labels },
    spec: { controllerName: gatewayController(className), ...spec },
  });
  const shared = gatewayClass.shared ? [classOf(`${name}-shared`, {})] : [];
  if (!gatewayApi.dedicatedNodes.enabled) return [classOf(name, {}), ...shared];
  const parameters = { namespace: release.namespace, name: `${release.name}-dedicated` };
  const parametersRef = { group: "sluice.dev", kind: "GatewayParameters", ...parameters };
  return [
    classOf(name, { parametersRef }),
    ...shared,
    {
      apiVersion: "sluice.dev/v1alpha1",
      kind: "GatewayParameters",
      metadata: { ...parameters, labels },
      spec: { nodes: "Dedicated" },
    },
  ];
}

/**
 * Leases that tell other installations in the cluster which resources without spec.class belong to this installation.
 */
function classLeases(release: Release): readonly KubernetesObject[] {
  const { classlessNamespaces, class: className } = release.values;
  const labels = { ...labelsOf(release, component), [CLASS_LABEL]: className };
  return [...new Set(classlessNamespaces)].map((namespace) => ({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: wideName(release, "classless"), namespace, labels },
  }));
}
