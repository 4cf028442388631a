/** Base class of the components of all parts. */
import {
  ComponentResource,
  type ComponentResourceOptions,
  type CustomResource,
  type CustomResourceOptions,
} from "@pulumi/pulumi";
import { createPulumiObject, type KubernetesObject } from "../objects/create.ts";
import { type Component, metadataOf, type Release, selectorOf } from "../objects/names.ts";
import { networkPolicy } from "../objects/network-policies.ts";

export abstract class SluiceComponent extends ComponentResource {
  protected create(
    objects: readonly KubernetesObject[],
    options: CustomResourceOptions = {},
  ): readonly CustomResource[] {
    return objects.map((object) => createPulumiObject(object, { parent: this, ...options }));
  }

  constructor(type: string, name: string, options?: ComponentResourceOptions) {
    super(`sluice:index:${type}`, name, {}, options);
  }
}

/** The NetworkPolicy and the PodDisruptionBudget of a part, if the values enable them. */
export function protectionObjectsOf(release: Release, component: Component): readonly KubernetesObject[] {
  const { networkPolicies, disruptionBudgets } = release.values;
  const single = component === "postgres" || component === "redis";
  return [
    ...(networkPolicies.enabled ? [networkPolicy(release, component)] : []),
    ...(disruptionBudgets.enabled && !single ? [disruptionBudget(release, component)] : []),
  ];
}

/** Lets one pod of the part be evicted at a time. */
const disruptionBudget = (release: Release, component: string): KubernetesObject => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: metadataOf(release, component),
  spec: {
    maxUnavailable: 1,
    // A pod that is not ready does not block a drain.
    unhealthyPodEvictionPolicy: "AlwaysAllow",
    selector: { matchLabels: selectorOf(release, component) },
  },
});
