/** Objects become resources of a stack: the one place where Pulumi is told what is special about a kind. */
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
import type { KubernetesObject } from "./object.ts";

/** What each of them takes is a Kubernetes object, and what that must be the API server says, in a preview too. */
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
 * How long the API server and the pods may take: without a bound, Pulumi waits for ten minutes for each object. What ends no
 * pods is gone at once, but the provider may miss that and look again only when the time is over: so it is short.
 */
export const timeouts = { create: "5m", update: "5m", delete: "30s" } as const;
const untilPodsEnd = { ...timeouts, delete: "3m" } as const;
const withPods: readonly string[] = ["Deployment", "StatefulSet", "Namespace"];

/** Creates the object as a resource of its own name. Kinds that Pulumi does not know are custom resources. */
export function create(object: KubernetesObject, options: CustomResourceOptions = {}): CustomResource {
  const { apiVersion, kind, metadata } = object;
  const known = constructors[`${apiVersion} ${kind}`];
  const made: Constructor = known ?? apiextensions.CustomResource;
  return new made(metadata.name, (isAwaited(object) ? object : notAwaited(object)) as never, {
    customTimeouts: withPods.includes(kind) ? untilPodsEnd : timeouts,
    ...options,
  });
}

/**
 * Of each core Service Pulumi would wait ten seconds more for its endpoints to settle, some at a time, though the pods
 * behind it are waited for themselves. What it cannot know otherwise is the address that a cloud gives.
 */
const isAwaited = ({ apiVersion, kind, spec }: KubernetesObject): boolean =>
  apiVersion !== "v1" || kind !== "Service" || (spec as { type?: string }).type === "LoadBalancer";

const notAwaited = (object: KubernetesObject): KubernetesObject => {
  const annotations = { ...object.metadata.annotations, "pulumi.com/skipAwait": "true" };
  return { ...object, metadata: { ...object.metadata, annotations } };
};

/** The same for a Secret whose entries are made by the program: another run makes others, and they are not taken. */
export const createOnce = (secret: KubernetesObject, options: CustomResourceOptions = {}): CustomResource =>
  create(secret, { ...options, ignoreChanges: ["data"] });
