/**
 * Checks existing objects before anything is created. The provider creates by server-side apply, which adopts an object
 * of the same name whatever its owner, and `pulumi destroy` would delete it.
 */
import { type CustomResource, mergeOptions, output, RunError, runtime, secret } from "@pulumi/pulumi";
import type { ExistingObject, ObjectIdentity, ReadObject } from "./reader.ts";

/** The label on every object of a stack: `kubectl get all -A -l sluice.dev/stack=dev`. */
export const STACK_LABEL = "sluice.dev/stack";

/**
 * Holds back every Kubernetes object registered from now on until all have been checked. Call the returned function
 * when all are registered; it resolves when they may be created.
 *
 * @returns a function that, if objects of other owners exist, rejects with a RunError that lists them. In that case
 * nothing is created.
 */
export function checkBeforeCreating(stack: string, read: ReadObject): () => Promise<void> {
  const looks: Promise<string | null>[] = [];
  const { promise: looked, resolve: goOn } = Promise.withResolvers<CustomResource[]>();
  runtime.registerStackTransformation(({ type, props, opts }) => {
    if (!type.startsWith("kubernetes:") || !isNamed(props)) return undefined;
    const found = read(props);
    looks.push(found.then((object) => object && othersClaim(object, stack)));
    const entries = isKept(props.kind, opts) ? { data: keptEntries(props.data, found) } : {};
    return { props: { ...props, ...entries }, opts: mergeOptions(opts, { dependsOn: looked }) };
  });
  return async () => {
    const claims = (await Promise.all(looks)).filter((claim) => claim !== null);
    if (claims.length === 0) return goOn([]);
    const more = claims.length > MAX_LISTED ? [`and ${claims.length - MAX_LISTED} more`] : [];
    throw new RunError(
      [
        `The stack ${stack} would overwrite objects of other owners:`,
        ...claims.slice(0, MAX_LISTED),
        ...more,
        adviceFor(stack),
      ].join("\n  "),
    );
  };
}

/** The maximum number of objects that the error lists: a few are enough to recognize another release. */
const MAX_LISTED = 10;

const adviceFor = (stack: string): string =>
  [
    "Nothing was changed. Give the stack its own namespace or name (sluice:namespace, sluice:name), use an existing",
    "namespace (sluice:ownNamespace false), or continue with the tool that created these objects. If an object belongs",
    "to this stack, but the stack was renamed or the object's label was removed, run:",
    `kubectl label --overwrite KIND NAME ${STACK_LABEL}=${stack}`,
  ].join("\n  ");

const isNamed = (props: unknown): props is ObjectIdentity & { readonly data?: unknown } => {
  const { apiVersion, kind, metadata } = (props ?? {}) as Partial<ObjectIdentity>;
  return [apiVersion, kind, metadata?.name].every((text) => typeof text === "string");
};

/** Whether the object is a Secret whose entries the program generates once (see createOnce). */
const isKept = (kind: string, opts: { readonly ignoreChanges?: readonly string[] }): boolean =>
  kind === "Secret" && opts.ignoreChanges?.includes("data") === true;

/** The generated entries; an entry in the cluster replaces the generated one, because a volume's data may need it. */
const keptEntries = (made: unknown, found: Promise<ExistingObject | null>) =>
  secret(output({ made, found }).apply(({ made, found }) => ({ ...(made as object), ...found?.data })));

/**
 * A sentence with the owner or the creator of the object; null if the object belongs to the stack. Objects of the stack
 * may be missing from its state: an `up` that created them was killed before it saved the state, or they were retained
 * when the stack was destroyed.
 */
export function othersClaim(found: ExistingObject, stack: string): string | null {
  const { labels = {} } = found.metadata;
  const owner = labels[STACK_LABEL];
  if (owner === stack) return null;
  const { namespace, name } = found.metadata;
  const place = namespace === undefined ? name : `${name} in the namespace ${namespace}`;
  return `the ${found.kind} ${place} ${owner === undefined ? makerOf(found) : `belongs to the stack ${owner}`}`;
}

function makerOf({ metadata: { labels = {}, annotations = {}, managedFields = [] } }: ExistingObject): string {
  if (labels["app.kubernetes.io/managed-by"] === "Helm") {
    const [namespace, name] = ["namespace", "name"].map((part) => annotations[`meta.helm.sh/release-${part}`] ?? "?");
    return `belongs to Helm's release ${name} in the namespace ${namespace}`;
  }
  const managers = managedFields.flatMap(({ manager, subresource }) => (manager && !subresource ? [manager] : []));
  const makers = new Set(managers.map((manager) => madeWith.get(manager) ?? manager));
  return `already exists, created with ${[...makers].join(", ") || "an unknown program"}`;
}

/** Readable names for field managers whose names do not reveal the program. */
const madeWith: ReadonlyMap<string, string> = new Map([
  ["kubectl-client-side-apply", "kubectl"],
  ["sluice-crds", "sluice-operator crds apply"],
]);
