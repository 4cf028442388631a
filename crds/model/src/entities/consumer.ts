/** A consumer: a person or program that sends requests. */
import { nullable, record, type Static, text } from "@sluice/plugin-sdk";
import { created_at, idMember, tagsMember, updated_at } from "./common-members.ts";

export const consumerSchema = record(
  {
    id: idMember("the username, or from the content if there is none"),
    created_at,
    updated_at,
    username: nullable(text({ description: "A unique name for the consumer.", minLength: 1, maxLength: 256 })),
    custom_id: nullable(
      text({ description: "The consumer's unique id in another system.", minLength: 1, maxLength: 256 }),
    ),
    tags: tagsMember,
  },
  { description: "A person or program that sends requests.", rule: "consumer" },
);

export type Consumer = Static<typeof consumerSchema>;
