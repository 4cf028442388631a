/** The conditions that the operator wrote into custom resources, as the admin API shows them. */
import type { Condition, Resource } from "@sluice/crds";
import { resourceKinds } from "@sluice/model";
import type { EntityOrigin, StoredResource, StoreProblem } from "../../store.ts";
import type { EntityInResource, ResourceView } from "./build-view.ts";

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
          message,
        })),
    ),
  );

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
