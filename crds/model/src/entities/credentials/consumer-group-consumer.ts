/** The memberships of consumers in consumer groups, to which plugins can be attached. */
import { owner, record, type Static, text } from "@sluice/plugin-sdk";
import { created_at, tagsMember } from "../common-members.ts";

export const consumerGroupConsumerSchema = record(
  {
    id: text({
      description: "The entry's UUID. If unset, it is derived (UUIDv5) from the consumer and the group.",
      rule: "uuid",
    }),
    created_at,
    consumer: owner("consumers", "The consumer that belongs to the group."),
    consumer_group: owner("consumer_groups", "The group that the consumer belongs to."),
    tags: tagsMember,
  },
  { description: "The membership of a consumer in a consumer group." },
);

export type ConsumerGroupConsumer = Static<typeof consumerGroupConsumerSchema>;
