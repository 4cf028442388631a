/** Applies the rules to every object of a stack before anything is created. */
import { log, Output, output, RunError, runtime } from "@pulumi/pulumi";
import type { KubernetesObject } from "../objects/create.ts";
import { bareRoutes, findPolicyViolations, isObject } from "./rules.ts";

/**
 * Collects all Kubernetes objects registered from now on. Call the returned function when all are registered. If an
 * object breaks a rule, the returned function fails the preview that precedes every `pulumi up`, before anything has
 * been created.
 *
 * @param isPublic Whether to refuse Routes on which no Plugin acts.
 * @returns a function that throws a RunError with all violations if there are any. Refused Routes are logged as errors
 * once the names in their references are known, which fails the program too.
 */
export function enforcePolicies(isPublic: boolean): () => void {
  const seen: KubernetesObject[] = [];
  runtime.registerStackTransformation(({ type, props }) => {
    if (isObject(type, props)) seen.push(props);
    return undefined;
  });
  return () => {
    const faults = findPolicyViolations(seen.map((object) => plain(object) as KubernetesObject));
    if (faults.length > 0) throw new RunError(message(faults));
    if (!isPublic) return;
    // Names in references are outputs of resources: a preview resolves them, but asynchronously.
    const routing = seen.filter(({ kind }) => kind === "Route" || kind === "Plugin");
    output(routing.map(({ apiVersion, kind, metadata, spec }) => ({ apiVersion, kind, metadata, spec }))).apply(
      (objects) => {
        const bare = bareRoutes(objects as readonly KubernetesObject[]);
        if (bare.length > 0) log.error(message(bare));
      },
    );
  };
}

const message = (faults: readonly string[]): string => ["The stack breaks its rules:", ...faults].join("\n  ");

/** Drops outputs, which are secrets and names of other resources; all other values are known synchronously. */
function plain(value: unknown): unknown {
  if (Output.isInstance(value)) return undefined;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}
