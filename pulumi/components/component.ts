/** Base class of the components of all parts. */
import {
  ComponentResource,
  type ComponentResourceOptions,
  type CustomResource,
  type CustomResourceOptions,
} from "@pulumi/pulumi";
import { createObject } from "../objects/create.ts";
import { disruptionBudget } from "../objects/disruption-budgets.ts";
import type { Component, Release } from "../objects/names.ts";
import { networkPolicy } from "../objects/network-policies.ts";
import type { KubernetesObject } from "../objects/object.ts";

/** A part of a Sluice with all its objects. */
export abstract class SluiceComponent extends ComponentResource {
  /** Creates the objects as children of this component. */
  protected create(
    objects: readonly KubernetesObject[],
    options: CustomResourceOptions = {},
  ): readonly CustomResource[] {
    return objects.map((object) => createObject(object, { parent: this, ...options }));
  }

  constructor(type: string, name: string, options?: ComponentResourceOptions) {
    super(`sluice:index:${type}`, name, {}, options);
  }
}

/** Objects that protect the pods of a part. */
export function guardsOf(release: Release, component: Component): readonly KubernetesObject[] {
  const { networkPolicies, disruptionBudgets } = release.values;
  const single = component === "postgres" || component === "redis";
  return [
    ...(networkPolicies.enabled ? [networkPolicy(release, component)] : []),
    ...(disruptionBudgets.enabled && !single ? [disruptionBudget(release, component)] : []),
  ];
}
