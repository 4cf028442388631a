/**
 * The rules as a policy pack, for programs that are not ours: `pulumi up --policy-pack pulumi/policy`. Our own program needs
 * no flag (enforce.ts).
 */
import {
  PolicyPack,
  type PolicyResource,
  type ResourceValidationPolicy,
  type StackValidationPolicy,
} from "@pulumi/policy";
import type { KubernetesObject } from "../objects/object.ts";
import { bareRoutes, type Rule, rules } from "./rules.ts";

/** The Kubernetes object that a resource is, or undefined when it is something else. */
function objectOf({ type, props }: Pick<PolicyResource, "type" | "props">): KubernetesObject | undefined {
  return type.startsWith("kubernetes:") && "kind" in props && "metadata" in props
    ? (props as KubernetesObject)
    : undefined;
}

/** Pulumi says which object and which rule. */
const policyOf = ({ name, description, faults }: Rule): ResourceValidationPolicy => ({
  name,
  description,
  validateResource(resource, reportViolation) {
    const object = objectOf(resource);
    if (object === undefined) return;
    for (const fault of faults(object)) reportViolation(fault);
  },
});

/** Told only, unless a config of the pack says `{"no-bare-routes": "mandatory"}`: whom a stack is for, nothing here says. */
const noBareRoutes: StackValidationPolicy = {
  name: "no-bare-routes",
  description: "On each Route, or its Service, a Plugin acts.",
  enforcementLevel: "advisory",
  validateStack({ resources }, reportViolation) {
    const objects = resources.flatMap((resource) => objectOf(resource) ?? []);
    for (const fault of bareRoutes(objects)) reportViolation(fault);
  },
};

new PolicyPack("sluice", { enforcementLevel: "mandatory", policies: [...rules.map(policyOf), noBareRoutes] });
