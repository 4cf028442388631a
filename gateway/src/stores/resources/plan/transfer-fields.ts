/**
 * Transfers fields of a resource to one manager by changing managedFields only: no value changes. After that, the
 * manager's next apply removes the fields that it leaves out, in the same request that adds the new ones.
 */
import type { Metadata, Resource } from "@sluice/crds";

export type ManagedFields = NonNullable<Metadata["managedFields"]>;

/** Steps below the spec as in managedFields: `f:retries`; for an item of a keyed list `k:{"target":"a:80"}`. */
export type FieldPath = readonly string[];

export interface FieldTransfer {
  readonly manager: string;
  readonly gone: readonly FieldPath[];
  readonly stay: readonly FieldPath[];
}

/** fieldsV1: the content of each step; `.` is the field itself. */
type Node = Readonly<Record<string, unknown>>;

export function transferFields(
  { apiVersion, metadata }: Resource,
  { manager, gone, stay }: FieldTransfer,
): ManagedFields {
  const { managedFields = [] } = metadata;
  const own = managedFields.find(
    (entry) => entry.manager === manager && entry.operation === "Apply" && !entry.subresource,
  );
  const roots = gone.map((path) => ["f:spec", ...rootOf(path, stay)]);
  // Inner fields come first: the entry `.` of an outer field is only added if its content has entries already.
  const given = gone
    .flatMap((path, index) => withinRoot(["f:spec", ...path], roots[index]?.length ?? 1))
    .sort((one, other) => other.length - one.length)
    .reduce<Node>(withField, nodeOf(own?.fieldsV1));
  const others = managedFields.flatMap((entry) => {
    if (entry === own) return [];
    if (entry.subresource) return [entry];
    const fieldsV1 = roots.reduce<Node>(without, nodeOf(entry.fieldsV1));
    return Object.keys(fieldsV1).length > 0 ? [{ ...entry, fieldsV1 }] : [];
  });
  const taken = { fieldsType: "FieldsV1", apiVersion, ...own, manager, operation: "Apply", fieldsV1: given };
  return [...others, taken];
}

/**
 * The outermost field that contains the path and none of the paths that stay. It is removed as a whole, because
 * otherwise an empty list or record would remain.
 */
function rootOf(path: FieldPath, stay: readonly FieldPath[]): FieldPath {
  const isAround = (root: FieldPath) => stay.some((other) => root.every((step, index) => step === other[index]));
  const lengths = path.map((_, index) => index + 1);
  return path.slice(0, lengths.find((length) => !isAround(path.slice(0, length))) ?? path.length);
}

/** The field and the fields around it that are removed with it. */
const withinRoot = (path: FieldPath, depth: number): readonly FieldPath[] =>
  path.slice(depth - 1).map((_, index) => path.slice(0, depth + index));

const nodeOf = (value: unknown): Node => Object(value);

/** Adds a field. If the field has content, `.` stands for the field itself. */
function withField(fields: Node, [step, ...rest]: FieldPath): Node {
  if (step === undefined) return Object.keys(fields).length > 0 ? { ".": {}, ...fields } : fields;
  return { ...fields, [step]: withField(nodeOf(fields[step]), rest) };
}

/** Removes a field with its content; a step that becomes empty is removed too. */
function without(fields: Node, [step, ...rest]: FieldPath): Node {
  if (step === undefined || !Object.hasOwn(fields, step)) return fields;
  const { [step]: inside, ...others } = fields;
  if (rest.length > 0 && Object.keys(nodeOf(inside)).length === 0) return fields;
  const left = rest.length === 0 ? {} : without(nodeOf(inside), rest);
  return Object.keys(left).length > 0 ? { ...others, [step]: left } : others;
}
