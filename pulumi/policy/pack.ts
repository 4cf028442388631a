/**
 * The rules as a policy pack for other programs: `pulumi up --policy-pack pulumi/policy`. Sluice's own program needs no
 * flag (enforce.ts).
 */
import {
  PolicyPack,
  type PolicyResource,
  type ResourceValidationPolicy,
  type StackValidationPolicy,
} from "@pulumi/policy";
import type { KubernetesObject } from "../objects/create.ts";
import { bareRoutes, policyRules, type Rule } from "./rules.ts";

/** The Kubernetes object of a resource; undefined for other resources. */
function objectOf({ type, props }: Pick<PolicyResource, "type" | "props">): KubernetesObject | undefined {
  return type.startsWith("kubernetes:") && "kind" in props && "metadata" in props
    ? (props as KubernetesObject)
    : undefined;
}

/** Pulumi adds the object and the rule to the message. */
const policyOf = ({ name, description, faults }: Rule): ResourceValidationPolicy => ({
  name,
  description,
  validateResource(resource, reportViolation) {
    const object = objectOf(resource);
    if (object === undefined) return;
    for (const fault of faults(object)) reportViolation(fault);
  },
});

/**
 * Advisory, unless a config of the pack sets `{"no-bare-routes": "mandatory"}`: the pack cannot tell whether a stack is
 * public.
 */
const noBareRoutes: StackValidationPolicy = {
  name: "no-bare-routes",
  description: "On each Route, or its Service, a Plugin acts.",
  enforcementLevel: "advisory",
  validateStack({ resources }, reportViolation) {
    const objects = resources.flatMap((resource) => objectOf(resource) ?? []);
    for (const fault of bareRoutes(objects)) reportViolation(fault);
  },
};

new PolicyPack("sluice", { enforcementLevel: "mandatory", policies: [...policyRules.map(policyOf), noBareRoutes] });
