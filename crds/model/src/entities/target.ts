/** A target: one address of an upstream. */
import { decimal, integer, owner, record, type Static, text } from "@sluice/plugin-sdk";
import { idMember, tagsMember } from "./common-members.ts";

const time = (what: string) => decimal({ description: `When the target was ${what}, Unix time in seconds.` });

export const targetSchema = record(
  {
    id: idMember("the upstream and the address"),
    created_at: time("created"),
    updated_at: time("last changed"),
    upstream: owner("upstreams", "The upstream that the target belongs to."),
    target: text({
      description:
        "Host name or address, with an optional port (default 8000). Nodes look up names every 5 seconds, and a name " +
        "with a single address for each new connection too, whatever the TTL of its records.",
      rule: "target",
      maxLength: 260,
    }),
    weight: integer({
      description: "The target's share of requests in proportion to the other weights; 0 disables the target.",
      default: 100,
      minimum: 0,
      maximum: 65_535,
    }),
    tags: tagsMember,
  },
  { description: "One address of an upstream." },
);

export type Target = Static<typeof targetSchema>;
