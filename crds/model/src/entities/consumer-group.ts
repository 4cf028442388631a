/** A group of consumers to which plugins can be attached. */
import { record, type Static, text } from "@sluice/plugin-sdk";
import { created_at, idMember, tagsMember, updated_at } from "./common-members.ts";

export const consumerGroupSchema = record(
  {
    id: idMember("the name"),
    created_at,
    updated_at,
    name: text({ description: "A unique name for the group.", rule: "name", minLength: 1, maxLength: 256 }),
    tags: tagsMember,
  },
  { description: "A group of consumers to which plugins can be attached." },
);

export type ConsumerGroup = Static<typeof consumerGroupSchema>;
