/**
 * The rules as a policy pack for other programs: `pulumi up --policy-pack pulumi/policy`. Sluice's own program needs no
 * flag (enforce.ts).
 */
import { PolicyPack, type ResourceValidationPolicy, type StackValidationPolicy } from "@pulumi/policy";
import { bareRoutes, isObject, type PolicyRule, policyRules } from "./rules.ts";

/** Pulumi adds the object and the rule to the message. */
const policyOf = ({ name, description, faults }: PolicyRule): ResourceValidationPolicy => ({
  name,
  description,
  validateResource({ type, props }, reportViolation) {
    if (!isObject(type, props)) return;
    for (const fault of faults(props)) reportViolation(fault);
  },
});

/**
 * Advisory, unless a config of the pack sets `{"no-bare-routes": "mandatory"}`: the pack cannot tell whether a stack is
 * public.
 */
const noBareRoutes: StackValidationPolicy = {
  name: "no-bare-routes",
  description: "A Plugin acts on each Route or its Service.",
  enforcementLevel: "advisory",
  validateStack({ resources }, reportViolation) {
    const objects = resources.flatMap(({ type, props }) => (isObject(type, props) ? [props] : []));
    for (const fault of bareRoutes(objects)) reportViolation(fault);
  },
};

new PolicyPack("sluice", { enforcementLevel: "mandatory", policies: [...policyRules.map(policyOf), noBareRoutes] });
