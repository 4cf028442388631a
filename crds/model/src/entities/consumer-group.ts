/** A group of consumers to which plugins can be attached. */
import { record, type Static, text } from "@sluice/plugin-sdk";
import { created_at, idFrom, tags, updated_at } from "./common-members.ts";

export const consumerGroupSchema = record(
  {
    id: idFrom("the name"),
    created_at,
    updated_at,
    name: text({ description: "A unique name for the group.", rule: "name", minLength: 1, maxLength: 256 }),
    tags,
  },
  { description: "A group of consumers to which plugins can be attached." },
);

export type ConsumerGroup = Static<typeof consumerGroupSchema>;
