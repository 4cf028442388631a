/** Groups the errors of a document by entity (`flatten_errors`), as Kong's ingress controller expects them. */
import {
  type Collection,
  collections,
  entities,
  nestedLists,
  schemaViolation,
  type Violation,
  type ViolationFields,
} from "@sluice/model";

export interface EntityErrors {
  readonly entity_type: string;
  readonly entity_id?: string;
  readonly entity_name?: string;
  readonly entity_tags?: readonly string[];
  /** The entity as written, without nested lists, and with a reference to its parent if the parent has an id. */
  readonly entity: Members;
  readonly errors: readonly EntityError[];
}

export type EntityError =
  | { readonly type: "field"; readonly field: string; readonly message: string }
  | { readonly type: "entity"; readonly message: string };

type Members = Readonly<Record<string, unknown>>;

export interface FlatErrors {
  readonly flattened_errors: readonly EntityErrors[];
  readonly rest: readonly Violation[];
}

interface Found {
  readonly collection: Collection;
  readonly entity: Members;
  readonly violations: Violation[];
}

/** `rest` has the violations that belong to no entity. @param data The document as written. */
export function flattenErrors(data: unknown, violations: readonly Violation[]): FlatErrors {
  const found = new Map<string, Found>();
  const rest: Violation[] = [];
  for (const violation of violations) {
    const place = locateEntity(data, violation.path);
    if (!place) {
      rest.push(violation);
      continue;
    }
    const { key, collection, entity, below } = place;
    const known = found.get(key) ?? { collection, entity, violations: [] };
    found.set(key, known);
    known.violations.push({ ...violation, path: below });
  }
  return { flattened_errors: [...found.values()].map(toEntityErrors), rest };
}

interface EntityLocation extends Omit<Found, "violations"> {
  readonly key: string;
  readonly below: Violation["path"];
}

/** The innermost entity on the path; undefined: the path leads to no entity. */
function locateEntity(data: unknown, path: Violation["path"]): EntityLocation | undefined {
  let [holder, lists, at]: [unknown, readonly string[], number] = [data, collections, 0];
  let place: EntityLocation | undefined;
  for (;;) {
    const [list, index] = [path[at], path[at + 1]];
    if (typeof list !== "string" || typeof index !== "number" || !lists.includes(list)) return place;
    const entity: unknown = Object(Object(holder)[list])[index];
    if (typeof entity !== "object" || entity === null || Array.isArray(entity)) return place;
    const collection = list as Collection;
    at += 2;
    place = {
      key: JSON.stringify(path.slice(0, at)),
      collection,
      entity: withParent(entity as Members, collection, place),
      below: path.slice(at),
    };
    holder = entity;
    lists = nestedLists[collection].map(({ child }) => child);
  }
}

function withParent(entity: Members, collection: Collection, parent: EntityLocation | undefined): Members {
  const inside = nestedLists[collection].map(({ child }) => child as string);
  const own = Object.fromEntries(Object.entries(entity).filter(([member]) => !inside.includes(member)));
  const member = parent && nestedLists[parent.collection].find(({ child }) => child === collection)?.member;
  const id = parent?.entity.id;
  return member === undefined || !isUuid(id) || own[member] !== undefined ? own : { ...own, [member]: { id } };
}

function toEntityErrors({ collection, entity, violations }: Found): EntityErrors {
  const { id, name, tags } = entity;
  return {
    entity_type: entities[collection].singular,
    ...(isUuid(id) && { entity_id: id }),
    ...(typeof name === "string" && name !== "" && { entity_name: name }),
    ...(Array.isArray(tags) && tags.every((tag) => typeof tag === "string") && { entity_tags: tags }),
    entity,
    errors: errorsIn(schemaViolation(violations).fields, ""),
  };
}

/** The errors in a tree of fields at the path `at`. Indexes count from 1, as in Lua. */
function errorsIn(fields: ViolationFields, at: string): readonly EntityError[] {
  if (fields === null) return [];
  if (typeof fields === "string") return [at === "" ? ofEntity(fields) : { type: "field", field: at, message: fields }];
  const steps: readonly (readonly [string, ViolationFields])[] = Array.isArray(fields)
    ? fields.map((one: ViolationFields, index): [string, ViolationFields] => [String(index + 1), one])
    : Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
  return steps.flatMap(([step, below]) => {
    if (step === "@entity") return (Array.isArray(below) ? below : [below]).map((message) => ofEntity(String(message)));
    return errorsIn(below, at === "" ? step : `${at}.${step}`);
  });
}

const ofEntity = (message: string): EntityError => ({ type: "entity", message });

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;
const isUuid = (id: unknown): id is string => typeof id === "string" && UUID.test(id);
