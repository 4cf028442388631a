/** Headers that the gateway sets on a service's requests, overriding the client's. Kong has no such member. */
import { list, nullable, record, type Static, text } from "../schema/member.ts";

const header = record(
  {
    name: text({ description: "The header's name.", rule: "upstream-header", minLength: 1, maxLength: 256 }),
    value: text({
      description: "Its value. Plans do not show it, because it may be a secret of the upstream's.",
      rule: "header-value",
      minLength: 1,
      maxLength: 4096,
    }),
  },
  { description: "A header." },
);

/** Names are unique, whatever their spelling (checked by the rule of the record `service`). */
export const upstreamHeadersSchema = nullable(
  list(header, {
    description:
      "Sluice's own: headers that every request to the upstream carries. One that the client or a plugin gave the " +
      "same name, with - or _ and in any case, is replaced.",
    maxItems: 16,
  }),
);

export type UpstreamHeader = Static<typeof header>;
