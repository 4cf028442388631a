/** Determines the owner of an object that a stack is about to create and that exists already. Pure. */

/** The label on every object of a stack: `kubectl get all -A -l sluice.dev/stack=dev`. */
export const STACK_LABEL = "sluice.dev/stack";

/** An object as the API server returns it. */
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
 * Why the stack must leave the object alone, as a sentence; null if it is the stack's own: created by an `up` that was
 * killed before it saved its state, or retained when the stack was destroyed.
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

/** Readable names for field managers whose names do not reveal the program. */
const madeWith: ReadonlyMap<string, string> = new Map([
  ["kubectl-client-side-apply", "kubectl"],
  ["sluice-crds", "sluice-operator crds apply"],
]);
