/** The conditions that the operator wrote into custom resources, as the admin API shows them. */
import type { Condition, Resource } from "@sluice/crds";
import { closestName, resourceKinds } from "@sluice/model";
import type { EntityOrigin, StoredResource, StoreProblem } from "../../store.ts";
import type { EntityInResource, Resources, ResourceView } from "./build-view.ts";

const conditionsOf = ({ status }: Resource): readonly Condition[] =>
  Array.isArray(status?.conditions) ? status.conditions : [];

const labelOf = (kind: string, { metadata: { namespace, name } }: Resource): StoredResource => ({
  kind,
  namespace,
  name,
});

/** Every condition that is false, of the resources of this installation. */
export const resourceProblems = (
  { resources, within }: Pick<ResourceView, "resources" | "within">,
  isOwn: (resource: Resource) => boolean,
): readonly StoreProblem[] =>
  resourceKinds.flatMap((kind) =>
    [...resources[kind].values()].filter(isOwn).flatMap((resource) =>
      conditionsOf(resource)
        .filter(({ status }) => status === "False")
        .map(({ type, reason, message }) => ({
          resource: labelOf(kind, resource),
          entity: entityOf(within(resource)),
          place: null,
          condition: type,
          reason,
          message: withSuggestions(message, { resources, isOwn }),
        })),
    ),
  );

/** A reference to a resource that does not exist, in the message of a condition (`referencePart` of the crds client). */
const MISSING = /there is no (\w+) (\S+) in the namespace ([^\s;]+)/g;

/** The message with the closest name of the same kind and namespace after each name that does not exist. */
const withSuggestions = (
  message: string,
  { resources, isOwn }: { readonly resources: Resources; readonly isOwn: (resource: Resource) => boolean },
): string =>
  message.replaceAll(MISSING, (sentence, kind: string, name: string, namespace: string) => {
    const known = resourceKinds.find((one) => one === kind);
    if (known === undefined) return sentence;
    const names = [...resources[known].values()]
      .filter((resource) => resource.metadata.namespace === namespace && isOwn(resource))
      .map((resource) => resource.metadata.name);
    const closest = closestName(name, names);
    return closest === undefined ? sentence : `${sentence} (did you mean ${closest}?)`;
  });

/** The first valid entity: its children, such as the targets of an upstream, come after it. */
function entityOf(held: readonly EntityInResource[]): StoreProblem["entity"] {
  const valid = held.find(({ isFaulty }) => !isFaulty);
  return valid ? { collection: valid.collection, id: valid.entity.id } : null;
}

export const resourceOrigin = (held: EntityInResource | undefined): EntityOrigin | null =>
  held
    ? {
        in: "resource",
        resource: labelOf(held.kind, held.resource),
        conditions: conditionsOf(held.resource).map(({ type, status, reason, message }) => ({
          type,
          status,
          reason,
          message,
        })),
      }
    : null;
