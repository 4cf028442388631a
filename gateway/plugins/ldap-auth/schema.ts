/** Config of ldap-auth: requests need the user name and password of an LDAP directory. */
import {
  boolean,
  decimal,
  definePluginFacts,
  integer,
  nullable,
  type RecordMembers,
  record,
  recordViolation,
  type Static,
  text,
  type Violation,
} from "@sluice/plugin-sdk";

const MAX_TIMEOUT = 2_147_483_646;

const schema = record(
  {
    ldap_host: text({
      description:
        "Name or address of the LDAP server. An address of the node's own machine, such as localhost, must be allowed by " +
        "SLUICE_ALLOWED_UPSTREAMS.",
      rule: "host",
      maxLength: 253,
    }),
    ldap_port: integer({
      description: "Port of the LDAP server; with `ldaps` usually 636.",
      default: 389,
      minimum: 0,
      maximum: 65_535,
    }),
    ldaps: boolean({ description: "Use TLS from the start of a connection. Excludes `start_tls`.", default: false }),
    start_tls: boolean({
      description: "Change to TLS before the first password is sent (StartTLS). Excludes `ldaps`.",
      default: false,
    }),
    verify_ldap_host: boolean({
      description: "Whether the LDAP server's certificate is verified, with `ldaps` or `start_tls`.",
      default: false,
    }),
    base_dn: text({
      description:
        "Distinguished name of the entry whose direct children are the users, such as " +
        "`ou=people,dc=example,dc=com`.",
      maxLength: 1024,
    }),
    attribute: text({
      description:
        "The attribute that contains the user name in a user's distinguished name, such as `uid` in " +
        "`uid=alice,ou=people,dc=example,dc=com`.",
      maxLength: 256,
    }),
    cache_ttl: decimal({
      description: "Seconds for which the directory's answer for a user name and password is cached; 0 caches nothing.",
      default: 60,
      minimum: 0,
    }),
    hide_credentials: boolean({
      description: "Remove the user name and password before forwarding.",
      default: false,
    }),
    timeout: decimal({
      description: "Milliseconds within which the LDAP server must answer, including the time to connect.",
      default: 10_000,
      minimum: 1,
      maximum: MAX_TIMEOUT,
    }),
    keepalive: decimal({
      description: "Milliseconds that an idle connection is kept.",
      default: 60_000,
      minimum: 1,
      maximum: MAX_TIMEOUT,
    }),
    anonymous: nullable(
      text({
        description: "Id or username of the consumer to which requests without a valid password are attributed.",
        maxLength: 256,
      }),
    ),
    header_type: text({
      description: "Scheme of the headers Authorization and Proxy-Authorization; `basic` for browsers.",
      default: "ldap",
      maxLength: 64,
    }),
    realm: nullable(text({ description: "Realm of the WWW-Authenticate header.", maxLength: 256 })),
  },
  { description: "Requires a user name and password, which an LDAP directory checks by a bind (RFC 4513)." },
);

export type LdapAuthConfig = Static<typeof schema>;

const BOTH = "'ldaps' and 'start_tls' cannot be enabled simultaneously";

const check = ({ ldaps, start_tls }: RecordMembers): readonly Violation[] =>
  ldaps === true && start_tls === true
    ? [{ path: ["start_tls"], message: "value must be false" }, recordViolation(BOTH)]
    : [];

export const ldapAuthFacts = definePluginFacts({
  name: "ldap-auth",
  version: "0.1.0",
  priority: 1200,
  protects: true,
  identifies: true,
  refuses: ["consumer"],
  check,
  kongChecks: [
    {
      conditional: {
        if_field: "config.ldaps",
        if_match: { eq: true },
        then_field: "config.start_tls",
        then_match: { eq: false },
        then_err: BOTH,
      },
    },
  ],
  schema,
});
