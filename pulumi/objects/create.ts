/**
 * Creates Kubernetes objects as Pulumi resources. Kinds that Pulumi must handle specially are handled here and in
 * `labelAllObjects` (stack.ts).
 */
import * as kubernetes from "@pulumi/kubernetes";
import type { CustomResource, CustomResourceOptions } from "@pulumi/pulumi";

interface ObjectMetadata {
  readonly name: string;
  /** Unset for cluster-scoped objects. */
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A Kubernetes object as sent to the API server, with Pulumi outputs in place of secrets. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMetadata;
  readonly [member: string]: unknown;
}

/** Each constructor accepts a Kubernetes object; the API server validates it, in a preview too. */
type Constructor = new (name: string, object: never, options?: CustomResourceOptions) => CustomResource;

/** Pulumi's constructors by the first part of the API group, then by version and by kind. */
const constructors = kubernetes as unknown as Readonly<
  Record<string, Partial<Record<string, Record<string, Constructor>>>>
>;

/** Pulumi's constructor for the object's kind; undefined: there is none. */
function constructorOf({ apiVersion, kind }: KubernetesObject): Constructor | undefined {
  const [group = "", version = ""] = apiVersion.includes("/") ? apiVersion.split("/") : ["core", apiVersion];
  return constructors[group.split(".")[0] ?? ""]?.[version]?.[kind];
}

/**
 * Time limits for the API server and the pods; Pulumi's default is ten minutes per object. Objects without pods are
 * deleted at once, but the provider may miss the event and check again only at the limit, so `delete` is short.
 */
export const objectTimeouts = { create: "5m", update: "5m", delete: "30s" } as const;
const untilPodsEnd = { ...objectTimeouts, delete: "3m" } as const;
const withPods: readonly string[] = ["Deployment", "StatefulSet", "Namespace"];

/** Creates the object as a resource of the same name. Kinds unknown to Pulumi become custom resources. */
export function createPulumiObject(object: KubernetesObject, options: CustomResourceOptions = {}): CustomResource {
  const { kind, metadata } = object;
  const made = constructorOf(object) ?? kubernetes.apiextensions.CustomResource;
  return new made(metadata.name, (isAwaited(object) ? object : notAwaited(object)) as never, {
    customTimeouts: withPods.includes(kind) ? untilPodsEnd : objectTimeouts,
    ...options,
  });
}

/**
 * Whether Pulumi waits until the object is ready. For each core Service it would wait ten more seconds for endpoints to
 * settle, although it already waits for the Service's pods, and it handles only a few Services at a time. Only a load
 * balancer's address, which the cloud assigns, needs the wait.
 */
const isAwaited = ({ apiVersion, kind, spec }: KubernetesObject): boolean =>
  apiVersion !== "v1" || kind !== "Service" || (spec as { type?: string }).type === "LoadBalancer";

const notAwaited = (object: KubernetesObject): KubernetesObject => {
  const annotations = { ...object.metadata.annotations, "pulumi.com/skipAwait": "true" };
  return { ...object, metadata: { ...object.metadata, annotations } };
};

/** Like createPulumiObject, for a Secret with generated entries: the values that a later run generates are ignored. */
export const createOnce = (secret: KubernetesObject, options: CustomResourceOptions = {}): CustomResource =>
  createPulumiObject(secret, { ...options, ignoreChanges: ["data"] });
