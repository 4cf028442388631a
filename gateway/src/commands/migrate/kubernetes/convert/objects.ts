/** The objects that users of Kong's ingress controller have, and how they are found. */
import type { ManifestObject } from "@sluice/crds";
import { isRecord } from "@sluice/plugin-sdk";

type Members = Readonly<Record<string, unknown>>;

export interface KongKind {
  readonly apiVersion: string;
  /** The name in the paths of the API. */
  readonly plural: string;
  /** Only objects with this label are read from a cluster. */
  readonly labels?: string;
  /** Why the kind is not converted, and what to use instead. */
  readonly unsupported?: string;
  readonly isClusterScoped?: true;
}

const CONFIGURATION = "configuration.konghq.com";
const streams =
  "write a Service and a Route with the protocol tcp, tls or tls_passthrough, as docs/how-to/forward-tcp-and-tls.md shows";
const udp = "Sluice does not forward UDP: serve this port with another load balancer";

/** By kind; `CoreService` is v1 Service. The versions are those of Kong's ingress controller 3.x. */
export const kongKinds = {
  Ingress: { apiVersion: "networking.k8s.io/v1", plural: "ingresses" },
  IngressClass: { apiVersion: "networking.k8s.io/v1", plural: "ingressclasses", isClusterScoped: true },
  CoreService: { apiVersion: "v1", plural: "services" },
  Secret: { apiVersion: "v1", plural: "secrets", labels: "konghq.com/credential" },
  ConfigMap: { apiVersion: "v1", plural: "configmaps", labels: "konghq.com/ca-cert=true" },
  KongPlugin: { apiVersion: `${CONFIGURATION}/v1`, plural: "kongplugins" },
  KongClusterPlugin: { apiVersion: `${CONFIGURATION}/v1`, plural: "kongclusterplugins", isClusterScoped: true },
  KongConsumer: { apiVersion: `${CONFIGURATION}/v1`, plural: "kongconsumers" },
  KongConsumerGroup: { apiVersion: `${CONFIGURATION}/v1beta1`, plural: "kongconsumergroups" },
  KongUpstreamPolicy: { apiVersion: `${CONFIGURATION}/v1beta1`, plural: "kongupstreampolicies" },
  KongVault: { apiVersion: `${CONFIGURATION}/v1alpha1`, plural: "kongvaults", isClusterScoped: true },
  IngressClassParameters: { apiVersion: `${CONFIGURATION}/v1alpha1`, plural: "ingressclassparameterses" },
  KongIngress: {
    apiVersion: `${CONFIGURATION}/v1`,
    plural: "kongingresses",
    unsupported:
      "KongIngress is deprecated: write its field upstream as a KongUpstreamPolicy, and proxy and route as annotations, " +
      "as Kong's documentation describes; then convert these",
  },
  KongCustomEntity: {
    apiVersion: `${CONFIGURATION}/v1alpha1`,
    plural: "kongcustomentities",
    unsupported: "Sluice has no entities of Kong's paid plugins",
  },
  KongLicense: {
    apiVersion: `${CONFIGURATION}/v1alpha1`,
    plural: "konglicenses",
    unsupported: "Sluice needs no license",
    isClusterScoped: true,
  },
  TCPIngress: { apiVersion: `${CONFIGURATION}/v1beta1`, plural: "tcpingresses", unsupported: streams },
  UDPIngress: { apiVersion: `${CONFIGURATION}/v1beta1`, plural: "udpingresses", unsupported: udp },
  KongServiceFacade: {
    apiVersion: "incubator.ingress-controller.konghq.com/v1alpha1",
    plural: "kongservicefacades",
    unsupported: "write its annotations at the core Service, and name that as the backend",
  },
  HTTPRoute: { apiVersion: "gateway.networking.k8s.io/v1", plural: "httproutes" },
  GRPCRoute: { apiVersion: "gateway.networking.k8s.io/v1", plural: "grpcroutes" },
} as const satisfies Readonly<Record<string, KongKind>>;

export type KongKindName = keyof typeof kongKinds;

export const kongKindNames = Object.keys(kongKinds) as readonly KongKindName[];

/** Undefined for objects of kinds that Kong's controller does not read. Versions of one group are not distinguished. */
export function kongKindOf({ apiVersion, kind }: ManifestObject): KongKindName | undefined {
  const name = apiVersion === "v1" && kind === "Service" ? "CoreService" : kind;
  if (!Object.hasOwn(kongKinds, name)) return undefined;
  const found = name as KongKindName;
  return groupOf(kongKinds[found].apiVersion) === groupOf(apiVersion) ? found : undefined;
}

const groupOf = (apiVersion: string): string => (apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "");

/** Empty for objects of the whole cluster. */
export function namespaceOf(object: ManifestObject): string {
  const kind = kongKindOf(object);
  const facts: KongKind | undefined = kind && kongKinds[kind];
  return facts?.isClusterScoped ? "" : (object.metadata.namespace ?? "default");
}

/** `Ingress shop/orders` */
export function objectTitle(object: ManifestObject): string {
  const namespace = namespaceOf(object);
  return `${object.kind} ${namespace === "" ? "" : `${namespace}/`}${object.metadata.name}`;
}

export const annotationsAt = ({ metadata }: ManifestObject): Readonly<Record<string, string>> =>
  metadata.annotations ?? {};

export const labelsAt = ({ metadata }: ManifestObject): Readonly<Record<string, string>> => metadata.labels ?? {};

export const recordOf = (value: unknown): Members => (isRecord(value) ? value : {});

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const nonEmptyText = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** The entries of a Secret or a ConfigMap as strings. */
export function dataEntries(object: ManifestObject): Readonly<Record<string, string>> {
  const decode = (value: unknown) =>
    object.kind === "Secret" ? Buffer.from(String(value), "base64").toString("utf8") : String(value);
  const data = Object.entries(recordOf(object.data)).map(([key, value]) => [key, decode(value)]);
  const written = Object.entries(recordOf(object.stringData)).map(([key, value]) => [key, String(value)]);
  return Object.fromEntries([...data, ...written]);
}

/** The objects by kind, namespace and name. Of two objects with the same name, the last is used. */
export class KongObjects {
  readonly #objects = new Map<string, ManifestObject>();

  constructor(objects: readonly ManifestObject[]) {
    for (const object of objects) {
      const kind = kongKindOf(object);
      if (kind) this.#objects.set(`${kind} ${namespaceOf(object)}/${object.metadata.name}`, object);
    }
  }

  find(kind: KongKindName, namespace: string, name: string): ManifestObject | undefined {
    return this.#objects.get(`${kind} ${namespace}/${name}`);
  }

  /** The oldest first, as Kong's controller orders them; without times, by namespace and name. */
  all(kind: KongKindName): readonly ManifestObject[] {
    const found = [...this.#objects].filter(([key]) => key.startsWith(`${kind} `));
    const timeOf = ([, { metadata }]: (typeof found)[number]) => String(metadata.creationTimestamp ?? "");
    const order = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
    return found
      .sort((one, other) => order(timeOf(one), timeOf(other)) || order(one[0], other[0]))
      .map(([, object]) => object);
  }
}
