/** The conditions that the operator wrote into custom resources, as the admin API shows them. */
import { type Condition, namespacedName, type Resource } from "@sluice/crds";
import { closestName, resourceKinds } from "@sluice/model";
import type { EntityOrigin, ResourceText, StoredCondition, StoredResource, StoreProblem } from "../../store.ts";
import type { EntityInResource, Resources, ResourceView } from "./build-view.ts";

const conditionsOf = ({ status }: Resource): readonly Condition[] =>
  Array.isArray(status?.conditions) ? status.conditions : [];

const labelOf = (kind: string, { metadata: { namespace, name } }: Resource): StoredResource => ({
  kind,
  namespace,
  name,
});

type PlaceOf = (resource: StoredResource) => string | null;

interface ProblemOptions {
  readonly isOwn: (resource: Resource) => boolean;
  readonly placeOf: PlaceOf;
}

/** Every condition that is false, of the resources of this installation. */
export function resourceProblems(
  { resources, within }: Pick<ResourceView, "resources" | "within">,
  { isOwn, placeOf }: ProblemOptions,
): readonly StoreProblem[] {
  const suggestions = new Suggestions(resources, isOwn);
  return resourceKinds.flatMap((kind) =>
    [...resources[kind].values()].filter(isOwn).flatMap((resource) =>
      conditionsOf(resource)
        .filter(({ status }) => status === "False")
        .map(({ type, reason, message }) => ({
          resource: labelOf(kind, resource),
          entity: entityOf(within(resource)),
          place: placeOf(labelOf(kind, resource)),
          condition: type,
          reason,
          ...suggestions.addedTo(message),
        })),
    ),
  );
}

/** A reference to a resource that does not exist, in the message of a condition (`referencePart` of the crds client). */
const MISSING = /there is no (\w+) (\S+) in the namespace ([^\s;]+)/g;

/** Maximum number of comparisons of two names, each of which takes about 5 microseconds. */
const MAX_COMPARED = 20_000;

/** Finds, for names that do not exist, the closest names of the same kind and namespace. */
class Suggestions {
  readonly #resources: Resources;
  readonly #isOwn: (resource: Resource) => boolean;
  /** Names by kind and namespace. */
  readonly #names = new Map<string, readonly string[]>();
  #compared = 0;

  constructor(resources: Resources, isOwn: (resource: Resource) => boolean) {
    this.#resources = resources;
    this.#isOwn = isOwn;
  }

  /** The message of a condition, with a suggestion after each name that does not exist. */
  addedTo(message: string): Pick<StoreProblem, "message" | "suggested"> {
    const suggested: StoredResource[] = [];
    const suggesting = message.replaceAll(MISSING, (sentence, kind: string, name: string, namespace: string) => {
      const closest = this.#closest(name, this.#namesOf(kind, namespace));
      if (closest === undefined) return sentence;
      suggested.push({ kind, namespace, name: closest });
      return `${sentence} (did you mean ${closest}?)`;
    });
    return { message: suggesting, suggested };
  }

  #closest(name: string, names: readonly string[]): string | undefined {
    if (this.#compared + names.length > MAX_COMPARED) return undefined;
    this.#compared += names.length;
    return closestName(name, names);
  }

  #namesOf(kind: string, namespace: string): readonly string[] {
    return this.#names.getOrInsertComputed(`${kind} ${namespace}`, () => {
      const known = resourceKinds.find((one) => one === kind);
      return known === undefined
        ? []
        : [...this.#resources[known].values()]
            .filter((resource) => resource.metadata.namespace === namespace && this.#isOwn(resource))
            .map((resource) => resource.metadata.name);
    });
  }
}

/** The first valid entity: its children, such as the targets of an upstream, come after it. */
function entityOf(held: readonly EntityInResource[]): StoreProblem["entity"] {
  const valid = held.find(({ isFaulty }) => !isFaulty);
  return valid ? { collection: valid.collection, id: valid.entity.id } : null;
}

export const resourceOrigin = (held: EntityInResource | undefined, placeOf: PlaceOf): EntityOrigin | null =>
  held
    ? {
        in: "resource",
        resource: labelOf(held.kind, held.resource),
        place: placeOf(labelOf(held.kind, held.resource)),
        conditions: shownConditions(held.resource),
      }
    : null;

/** @param label Whose kind may be that of no custom resource */
export function resourceText(
  resources: Resources,
  label: StoredResource,
  { isOwn, placeOf }: ProblemOptions,
): ResourceText | null {
  const { kind, namespace, name } = label;
  const known = resourceKinds.find((one) => one === kind);
  const resource = known && resources[known].get(namespacedName(namespace, name));
  if (!resource || !isOwn(resource)) return null;
  return { place: placeOf(label), spec: resource.spec, conditions: shownConditions(resource) };
}

const shownConditions = (resource: Resource): readonly StoredCondition[] =>
  conditionsOf(resource).map(({ type, status, reason, message }) => ({ type, status, reason, message }));
