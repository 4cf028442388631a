/** Config of basic-auth: requests need the user name and password of a consumer, or of an htpasswd file. */
import {
  addressListMember,
  boolean,
  definePluginFacts,
  nullable,
  type RecordRule,
  record,
  type Static,
  text,
  type Violation,
} from "@sluice/plugin-sdk";
import { htpasswdFault, supportedForms } from "./htpasswd.ts";

const schema = record(
  {
    anonymous: nullable(
      text({
        description: "Id or username of the consumer to which requests without a valid password are attributed.",
        maxLength: 256,
      }),
    ),
    hide_credentials: boolean({
      description: "Remove the user name and password before forwarding.",
      default: false,
    }),
    realm: text({ description: "Realm of the WWW-Authenticate header.", default: "service", maxLength: 256 }),
    htpasswd: nullable(
      text({
        description:
          "The text of an htpasswd file: a user name, a colon and a hash on each line. Its users are admitted without " +
          "a consumer, and a consumer's credential with the same user name is not used. Supported hashes: " +
          `${supportedForms}. In custom resources prefer configFrom, which reads the text from a Secret.`,
        maxLength: 1_048_576,
        secret: true,
        referenceable: true,
      }),
    ),
    htpasswd_only: boolean({
      description: "Admit only the users of `htpasswd`, and no consumers. Needs `htpasswd`.",
      default: false,
    }),
    exempt: addressListMember(
      "Addresses and CIDR blocks of clients that need no password. Their requests get no consumer. Kong has no such field.",
    ),
  },
  { description: "Requires the user name and password of a consumer, or of an htpasswd file (RFC 7617)." },
);

export type BasicAuthConfig = Static<typeof schema>;

const check: RecordRule = ({ htpasswd, htpasswd_only: isOnly }) => {
  const violation = (member: string, message: string): readonly Violation[] => [{ path: [member], message }];
  if (typeof htpasswd !== "string") return isOnly === true ? violation("htpasswd_only", "needs htpasswd") : [];
  const fault = htpasswdFault(htpasswd);
  return fault === undefined ? [] : violation("htpasswd", fault);
};

export const basicAuthFacts = definePluginFacts({
  name: "basic-auth",
  version: "0.1.0",
  priority: 1100,
  protects: true,
  identifies: true,
  refuses: ["consumer"],
  check,
  schema,
});
