/** The objects that annotations name, in the namespace of the Ingress. */
import type { Resource } from "../../../resource.ts";
import type { Annotations } from "./annotations.ts";

/** The name of an object of Kubernetes. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

export interface AnnotationLookups {
  readonly namespace: string;
  /** A string that no other Ingress of the namespace has. */
  readonly scope: string;
  /** Undefined: there is no such object, or it cannot be read. */
  readonly read: (kind: "Secret" | "ConfigMap", name: string) => Resource | undefined;
}

/**
 * The object that an annotation names, as `name` or `namespace/name`. Undefined without the annotation, and with a fault
 * if the object is in another namespace or does not exist.
 */
export function namedObject(
  annotations: Annotations,
  { annotation, kind }: { readonly annotation: string; readonly kind: "Secret" | "ConfigMap" },
  { namespace, read }: Pick<AnnotationLookups, "namespace" | "read">,
): Resource | undefined {
  const value = annotations.text(annotation);
  if (value === undefined) return undefined;
  const [first = "", second, ...others] = value.split("/");
  const [place, name] = second === undefined ? [namespace, first] : [first, second];
  if (!NAME.test(name) || others.length > 0)
    return annotations.reject(annotation, `expected a name or namespace/name, not '${value}'`) as undefined;
  if (place !== namespace)
    return annotations.reject(annotation, `the ${kind} must be in the namespace ${namespace}`) as undefined;
  const found = read(kind, name);
  if (!found)
    annotations.reject(
      annotation,
      `the ${kind} ${name} of the namespace ${namespace} does not exist, or cannot be read`,
    );
  return found;
}
