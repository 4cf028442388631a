/** An SNI: the certificate to present to clients that request a server name. */
import { owner, record, type Static, text } from "@sluice/plugin-sdk";
import { created_at, idMember, tagsMember, updated_at } from "../common-members.ts";

export const sniSchema = record(
  {
    id: idMember("the name"),
    created_at,
    updated_at,
    name: text({
      description: "The server name; * may stand for its first or last label.",
      rule: "wildcard-sni",
      maxLength: 255,
    }),
    certificate: owner("certificates", "The certificate that is presented for the name."),
    tags: tagsMember,
  },
  { description: "A server name and the certificate that is presented for it." },
);

export type Sni = Static<typeof sniSchema>;
