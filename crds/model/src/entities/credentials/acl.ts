/** Memberships of consumers in groups; the plugin acl allows or denies groups. */
import { owner, record, type Static, text } from "@sluice/plugin-sdk";
import { created_at, tagsMember } from "../common-members.ts";

export const aclSchema = record(
  {
    id: text({
      description:
        "The entry's UUID. If unset, the admin API generates it at random; in a declarative file it is derived from " +
        "the consumer and the group (UUIDv5).",
      rule: "uuid",
    }),
    created_at,
    consumer: owner("consumers", "The consumer that belongs to the group."),
    group: text({ description: "The name of the group.", maxLength: 512 }),
    tags: tagsMember,
  },
  { description: "The membership of a consumer in a group of the plugin acl." },
);

export type Acl = Static<typeof aclSchema>;
