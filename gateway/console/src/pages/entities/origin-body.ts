/** The place where an entity is written, and the parts of its custom resource that are not served. */

interface OriginCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** The body of `GET /origins/{collection}/{id}`. */
export type OriginBody =
  | { readonly in: "database" }
  | { readonly in: "file"; readonly place: string }
  | {
      readonly in: "resource";
      readonly resource: { readonly kind: string; readonly namespace: string; readonly name: string };
      /** Null: it is in a cluster. */
      readonly place: string | null;
      readonly conditions: readonly OriginCondition[];
    };

/**
 * The messages of the conditions about children of a resource. The message of a condition has one part for each field.
 *
 * @param segment The path of the children in the admin API, such as `key-auth`: the resource has them in `spec.keyAuth`
 */
export function unservedChildren(conditions: readonly OriginCondition[], segment: string): readonly string[] {
  const field = `spec.${segment.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())}[`;
  return conditions
    .filter(({ type, status }) => type === "ResolvedRefs" && status === "False")
    .flatMap(({ message }) => message.split("; ").filter((part) => part.startsWith(field)));
}
