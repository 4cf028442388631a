/** Creates Kubernetes objects as Pulumi resources. All special handling of kinds for Pulumi is here. */
import {
  admissionregistration,
  apiextensions,
  apps,
  autoscaling,
  coordination,
  core,
  networking,
  policy,
  rbac,
} from "@pulumi/kubernetes";
import type { CustomResource, CustomResourceOptions } from "@pulumi/pulumi";

interface ObjectMetadata {
  readonly name: string;
  /** Unset for cluster-scoped objects. */
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** As sent to the API server, with outputs in place of secrets. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMetadata;
  readonly [member: string]: unknown;
}

/** Each constructor accepts a Kubernetes object; the API server validates it, in a preview too. */
type Constructor = new (name: string, object: never, options?: CustomResourceOptions) => CustomResource;

const constructors: Readonly<Record<string, Constructor>> = {
  "v1 ConfigMap": core.v1.ConfigMap,
  "v1 Namespace": core.v1.Namespace,
  "v1 Secret": core.v1.Secret,
  "v1 Service": core.v1.Service,
  "v1 ServiceAccount": core.v1.ServiceAccount,
  "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration":
    admissionregistration.v1.ValidatingWebhookConfiguration,
  "apps/v1 Deployment": apps.v1.Deployment,
  "apps/v1 StatefulSet": apps.v1.StatefulSet,
  "autoscaling/v2 HorizontalPodAutoscaler": autoscaling.v2.HorizontalPodAutoscaler,
  "coordination.k8s.io/v1 Lease": coordination.v1.Lease,
  "networking.k8s.io/v1 NetworkPolicy": networking.v1.NetworkPolicy,
  "policy/v1 PodDisruptionBudget": policy.v1.PodDisruptionBudget,
  "rbac.authorization.k8s.io/v1 ClusterRole": rbac.v1.ClusterRole,
  "rbac.authorization.k8s.io/v1 ClusterRoleBinding": rbac.v1.ClusterRoleBinding,
  "rbac.authorization.k8s.io/v1 Role": rbac.v1.Role,
  "rbac.authorization.k8s.io/v1 RoleBinding": rbac.v1.RoleBinding,
};

/**
 * Time limits for the API server and the pods; Pulumi's default is ten minutes per object. Objects without pods are
 * deleted at once, but the provider may miss the event and check again only at the limit, so `delete` is short.
 */
export const timeouts = { create: "5m", update: "5m", delete: "30s" } as const;
const untilPodsEnd = { ...timeouts, delete: "3m" } as const;
const withPods: readonly string[] = ["Deployment", "StatefulSet", "Namespace"];

/** Creates the object as a resource named like it. Kinds unknown to Pulumi become custom resources. */
export function createObject(object: KubernetesObject, options: CustomResourceOptions = {}): CustomResource {
  const { apiVersion, kind, metadata } = object;
  const known = constructors[`${apiVersion} ${kind}`];
  const made: Constructor = known ?? apiextensions.CustomResource;
  return new made(metadata.name, (isAwaited(object) ? object : notAwaited(object)) as never, {
    customTimeouts: withPods.includes(kind) ? untilPodsEnd : timeouts,
    ...options,
  });
}

/**
 * Whether Pulumi waits until the object is ready. For a core Service it would wait ten more seconds for endpoints to
 * settle, for a few Services at a time, although it already waits for their pods. Only a load balancer's address, which
 * the cloud assigns, needs the wait.
 */
const isAwaited = ({ apiVersion, kind, spec }: KubernetesObject): boolean =>
  apiVersion !== "v1" || kind !== "Service" || (spec as { type?: string }).type === "LoadBalancer";

const notAwaited = (object: KubernetesObject): KubernetesObject => {
  const annotations = { ...object.metadata.annotations, "pulumi.com/skipAwait": "true" };
  return { ...object, metadata: { ...object.metadata, annotations } };
};

/** Like `create`, for a Secret with generated entries: the new values that a later run generates are ignored. */
export const createOnce = (secret: KubernetesObject, options: CustomResourceOptions = {}): CustomResource =>
  createObject(secret, { ...options, ignoreChanges: ["data"] });
