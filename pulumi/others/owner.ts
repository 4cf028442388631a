/** Whose an object is that a stack is about to create and that the cluster has already. Pure. */

/** The label by which everything of a stack is found: `kubectl get all -A -l sluice.dev/stack=dev`. */
export const STACK_LABEL = "sluice.dev/stack";

/** An object as the API server gives it. */
export interface Found {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly { readonly manager?: string; readonly subresource?: string }[];
  };
  readonly data?: Readonly<Record<string, string>>;
}

/**
 * Why the stack must leave the object alone, as a sentence, or null when it is the stack's own: one that an `up` made which
 * was killed before it could write that down, or that stayed when the stack was destroyed.
 */
export function othersClaim(found: Found, stack: string): string | null {
  const { labels = {} } = found.metadata;
  const owner = labels[STACK_LABEL];
  if (owner === stack) return null;
  const { namespace, name } = found.metadata;
  const place = namespace === undefined ? name : `${name} in the namespace ${namespace}`;
  return `the ${found.kind} ${place} ${owner === undefined ? makerOf(found) : `belongs to the stack ${owner}`}`;
}

function makerOf({ metadata: { labels = {}, annotations = {}, managedFields = [] } }: Found): string {
  if (labels["app.kubernetes.io/managed-by"] === "Helm") {
    const [namespace, name] = ["namespace", "name"].map((part) => annotations[`meta.helm.sh/release-${part}`] ?? "?");
    return `belongs to Helm's release ${name} in the namespace ${namespace}`;
  }
  const managers = managedFields.flatMap(({ manager, subresource }) => (manager && !subresource ? [manager] : []));
  const makers = new Set(managers.map((manager) => madeWith.get(manager) ?? manager));
  return `is there already, made with ${[...makers].join(", ") || "something else"}`;
}

/** Names under which people would not look for what wrote. */
const madeWith: ReadonlyMap<string, string> = new Map([
  ["kubectl-client-side-apply", "kubectl"],
  ["sluice-crds", "sluice-operator crds apply"],
]);
