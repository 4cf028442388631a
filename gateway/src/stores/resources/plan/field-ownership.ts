/**
 * Field ownership of a resource, and which part of a change the admin listener may apply. A directory has no field
 * managers: every field may be changed.
 */
import { isDeepStrictEqual } from "node:util";
import type { Metadata, Resource } from "@sluice/crds";
import { canonicalJson, kindFacts, type ResourceKind, type SpecNode } from "@sluice/model";
import type { FieldOwner } from "../../store.ts";
import { type FieldPath, type ManagedFields, transferFields } from "./transfer-fields.ts";

/** The field manager of all writes of the admin listener. */
export const ADMIN_MANAGER = "sluice-admin";

type Members = Readonly<Record<string, unknown>>;

interface Leaf {
  readonly path: FieldPath;
  readonly value: unknown;
}
/** By the path as one string. */
type Leaves = ReadonlyMap<string, Leaf>;

export interface OwnershipDivision {
  /** The fields to apply: those that change, and those that the admin listener applied earlier and that stay. */
  readonly ours: Pick<Resource, "metadata" | "spec">;
  /** The fields to apply to undo the change. */
  readonly undo: Pick<Resource, "metadata" | "spec">;
  /** Other managers whose fields would change or be removed. */
  readonly owners: readonly FieldOwner[];
  /**
   * The managedFields that make the admin listener the owner of the fields to be removed: an apply that leaves fields
   * out removes only those that its manager owns. Absent if the admin listener alone owns them already.
   */
  readonly managedFields?: ManagedFields;
}

export interface DesiredFields {
  readonly annotations: Readonly<Record<string, string>>;
  /** Annotations to remove, if the admin listener owns them. */
  readonly without?: readonly string[];
  readonly spec: Members;
}

/** Computes the difference between the desired and the current resource, by owner. */
export function divideByOwner(
  kind: ResourceKind,
  resource: Resource,
  { annotations, without = [], spec }: DesiredFields,
): OwnershipDivision {
  const { name, namespace, managedFields } = resource.metadata;
  const node = kindFacts[kind].spec;
  const before = leavesOf(resource.spec ?? {}, node);
  const after = leavesOf(spec, node);
  const mine = ownFields(resource);
  const isMine = (key: string) => managedFields === undefined || mine.has(key);
  const applied = pick(after, (leaf, key) => isMine(key) || !isDeepStrictEqual(before.get(key)?.value, leaf.value));
  const changed = [...applied.keys()].filter(
    (key) => !isDeepStrictEqual(before.get(key)?.value, after.get(key)?.value),
  );
  const gone = [...before.keys()].filter((key) => !after.has(key));
  const others = otherEntries(resource);
  const owners = [...gone, ...changed].flatMap((key) => ownersOf(others, key));
  const stuck = gone.filter((key) => !isMine(key) || isHeld(resource, key));
  const notes = notesOf(resource);
  const kept = Object.fromEntries(Object.entries(notes.ours).filter(([note]) => !without.includes(note)));
  const news = Object.entries(annotations).filter(
    ([note, value]) => kept[note] !== undefined || notes.all[note] !== value,
  );
  const metadata = { name, namespace, labels: notes.labels };
  return {
    ours: {
      metadata: { ...metadata, annotations: { ...kept, ...Object.fromEntries(news) } },
      spec: build(applied, node),
    },
    undo: {
      metadata: { ...metadata, annotations: notes.ours },
      spec: build(
        pick(before, (_, key) => isMine(key) || changed.includes(key) || stuck.includes(key)),
        node,
      ),
    },
    owners,
    ...(stuck.length > 0 && {
      managedFields: transferFields(resource, {
        manager: ADMIN_MANAGER,
        gone: stuck.map(pathOf),
        stay: [...after.values()].map(({ path }) => path),
      }),
    }),
  };
}

export const otherOwners = (resource: Resource): readonly FieldOwner[] =>
  otherEntries(resource).flatMap(({ manager, fields }) => (fields.size > 0 ? [{ manager, field: ".spec" }] : []));

interface Entry {
  readonly manager: string;
  readonly fields: ReadonlySet<string>;
}

const entriesOf = ({ metadata }: Resource) => (metadata.managedFields ?? []).filter(({ subresource }) => !subresource);

const otherEntries = (resource: Resource): readonly Entry[] =>
  entriesOf(resource).flatMap((entry) =>
    entry.manager === undefined || entry.manager === ADMIN_MANAGER
      ? []
      : [{ manager: entry.manager, fields: fieldsOf(entry, "f:spec") }],
  );

function ownersOf(entries: readonly Entry[], key: string): readonly FieldOwner[] {
  return entries
    .filter(({ fields }) => fields.has(key))
    .map(({ manager }) => ({ manager, field: fieldName(pathOf(key)) }));
}

const pathOf = (key: string): FieldPath => JSON.parse(key);

/**
 * Whether a field would remain although an apply leaves it out: another manager owns it, or the admin listener owns it
 * by an operation other than apply.
 */
const isHeld = (resource: Resource, key: string): boolean =>
  entriesOf(resource).some((entry) => entry !== applyEntry(resource) && fieldsOf(entry, "f:spec").has(key));

/** The name of a field in the notation of the API server, such as `.spec.targets[target="a:80"].weight`. */
const fieldName = (path: FieldPath): string =>
  path.reduce((text, step) => {
    if (step.startsWith("f:")) return `${text}.${step.slice(2)}`;
    const keys = Object.entries(JSON.parse(step.slice(2)) as object);
    return `${text}[${keys.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(",")}]`;
  }, ".spec");

const applyEntry = (resource: Resource) =>
  entriesOf(resource).find(({ manager, operation }) => manager === ADMIN_MANAGER && operation === "Apply");

const ownFields = (resource: Resource): ReadonlySet<string> => fieldsOf(applyEntry(resource), "f:spec");

function notesOf(resource: Resource) {
  const { labels = {}, annotations = {}, managedFields } = resource.metadata;
  if (managedFields === undefined) return { ours: annotations, all: annotations, labels };
  const entry = applyEntry(resource);
  const owned = (of: "labels" | "annotations", all: Readonly<Record<string, string>>) => {
    const fields = fieldsOf(entry, "f:metadata", `f:${of}`);
    return Object.fromEntries(Object.entries(all).filter(([note]) => fields.has(JSON.stringify([`f:${note}`]))));
  };
  return { ours: owned("annotations", annotations), all: annotations, labels: owned("labels", labels) };
}

/** The leaf fields of a managedFields entry below a path. */
function fieldsOf(
  entry: NonNullable<Metadata["managedFields"]>[number] | undefined,
  ...below: FieldPath
): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (node: Members, path: FieldPath): void => {
    const steps = Object.keys(node).filter((step) => step !== ".");
    if (steps.length === 0 && path.length > 0) found.add(JSON.stringify(path));
    for (const step of steps) visit(Object(node[step]), [...path, step]);
  };
  visit(
    below.reduce<Members>((node, step) => Object(node[step]), Object(entry?.fieldsV1)),
    [],
  );
  return found;
}

const isRecord = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The fields that have no inner fields. A list is one such field, unless the schema declares it as a map by keys. */
function leavesOf(spec: Members, specNode: SpecNode): Leaves {
  const leaves = new Map<string, Leaf>();
  const visit = (value: unknown, node: SpecNode, path: FieldPath): void => {
    const { listMapKeys } = node;
    if (Array.isArray(value) && listMapKeys) {
      for (const item of value)
        visit(item, node.items ?? {}, [
          ...path,
          `k:${canonicalJson(Object.fromEntries(listMapKeys.map((key) => [key, Object(item)[key]])))}`,
        ]);
      return;
    }
    if (!isRecord(value) || (Object.keys(value).length === 0 && path.length > 0)) {
      leaves.set(JSON.stringify(path), { path, value });
      return;
    }
    for (const [name, member] of Object.entries(value))
      visit(member, node.properties?.[name] ?? {}, [...path, `f:${name}`]);
  };
  visit(spec, specNode, []);
  return leaves;
}

const pick = (leaves: Leaves, wanted: (leaf: Leaf, key: string) => boolean): Leaves =>
  new Map([...leaves].filter(([key, leaf]) => wanted(leaf, key)));

/** Builds the members from leaves. An item of a keyed list includes its keys, whichever manager owns them. */
function build(leaves: Leaves, specNode: SpecNode): Members {
  const grow = (inside: readonly Leaf[], node: SpecNode): unknown => {
    const [first] = inside;
    if (first && first.path.length === 0) return first.value;
    const groups = new Map<string, Leaf[]>();
    for (const { path, value } of inside) {
      const [step = "", ...rest] = path;
      const group = groups.get(step) ?? [];
      group.push({ path: rest, value });
      groups.set(step, group);
    }
    if (node.listMapKeys)
      return [...groups].map(([step, group]) => ({
        ...(JSON.parse(step.slice(2)) as Members),
        ...(grow(group, node.items ?? {}) as Members),
      }));
    return Object.fromEntries(
      [...groups].map(([step, group]) => [step.slice(2), grow(group, node.properties?.[step.slice(2)] ?? {})]),
    );
  };
  return grow([...leaves.values()], specNode) as Members;
}
