/**
 * Hands fields of a resource over to one manager, in its managedFields alone: the value of no field changes. Then the
 * manager's next apply takes away what it leaves out, in the same step in which it puts in what is new.
 */
import type { Metadata, Resource } from "@sluice/crds";

export type ManagedFields = NonNullable<Metadata["managedFields"]>;

/** Steps below the spec as in managedFields: `f:retries`; for an item of a list with keys `k:{"target":"a:80"}`. */
export type Path = readonly string[];

export interface FieldTransfer {
  readonly manager: string;
  /** Innermost fields that are to go. */
  readonly gone: readonly Path[];
  /** Innermost fields that the resource has after that. */
  readonly stay: readonly Path[];
}

/** fieldsV1: what is inside each step; `.` stands for the field itself. */
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
  // The inner ones first: those around them own themselves beside what is inside.
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

/** The outermost field around a path that goes as a whole: an empty list or record would stay behind otherwise. */
function rootOf(path: Path, stay: readonly Path[]): Path {
  const isAround = (root: Path) => stay.some((other) => root.every((step, index) => step === other[index]));
  const lengths = path.map((_, index) => index + 1);
  return path.slice(0, lengths.find((length) => !isAround(path.slice(0, length))) ?? path.length);
}

/** The field and all around it, as far as they go with it. */
const withinRoot = (path: Path, depth: number): readonly Path[] =>
  path.slice(depth - 1).map((_, index) => path.slice(0, depth + index));

const nodeOf = (value: unknown): Node => Object(value);

/** The fields with one more. A field with others inside owns itself by a dot. */
function withField(fields: Node, [step, ...rest]: Path): Node {
  if (step === undefined) return Object.keys(fields).length > 0 ? { ".": {}, ...fields } : fields;
  return { ...fields, [step]: withField(nodeOf(fields[step]), rest) };
}

/** The fields without one and all inside; a step that has nothing left inside goes too. */
function without(fields: Node, [step, ...rest]: Path): Node {
  if (step === undefined || !Object.hasOwn(fields, step)) return fields;
  const { [step]: inside, ...others } = fields;
  if (rest.length > 0 && Object.keys(nodeOf(inside)).length === 0) return fields;
  const left = rest.length === 0 ? {} : without(nodeOf(inside), rest);
  return Object.keys(left).length > 0 ? { ...others, [step]: left } : others;
}
