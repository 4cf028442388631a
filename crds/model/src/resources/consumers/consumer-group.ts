/** The custom resource ConsumerGroup. A Consumer lists the groups to which it belongs. */
import type { ConsumerGroup } from "../../entities/index.ts";
import { type CommonSpec, commonSpecMembers, stateColumns } from "../common-spec.ts";
import { type Derived, type KindFacts, specOf } from "../kind.ts";

export type ConsumerGroupSpec = CommonSpec & Derived<ConsumerGroup>;

export const consumerGroupKind: KindFacts = {
  collection: "consumer_groups",
  shortName: "gwgroup",
  spec: specOf("consumer_groups", {
    add: commonSpecMembers(
      "The group's name, unique across namespaces. Default: metadata.name in Sluice's home namespace, " +
        "<namespace>.<metadata.name> elsewhere.",
    ),
  }),
  columns: [
    { name: "Group", jsonPath: ".spec.name", description: "The group's name, if set by spec.name." },
    ...stateColumns,
  ],
};
