/** Config of mtls-auth: clients need a certificate of a trusted authority. */
import {
  array,
  boolean,
  choice,
  decimal,
  definePluginFacts,
  integer,
  nullable,
  type RecordMembers,
  record,
  type Static,
  set,
  text,
  type Violation,
} from "@sluice/plugin-sdk";

const consumerName = (description: string) => nullable(text({ description, maxLength: 256 }));

const noRevocation = (name: string) =>
  `${name} serves revocation checks, which Sluice does not support: remove it, and issue certificates with short lifetimes`;

const schema = record(
  {
    ca_certificates: array(text({ description: "An id.", rule: "uuid" }), {
      description: "Ids of the CA certificates that clients' certificates are verified with.",
      minItems: 1,
      maxItems: 64,
    }),
    anonymous: consumerName(
      "Id or username of the consumer to which requests without a valid certificate are attributed.",
    ),
    consumer_by: set(choice(["username", "custom_id"], { description: "A member of consumers." }), {
      description:
        "Members of consumers that are compared with the subject names of the certificate. Empty or null: consumers are " +
        "found only by `mtls_auth_credentials`.",
      default: ["username", "custom_id"],
      maxItems: 2,
    }),
    skip_consumer_lookup: boolean({
      description:
        "Admit every client with a valid certificate, without a consumer. The upstream gets X-Client-Cert-Dn and " +
        "X-Client-Cert-San.",
      default: false,
    }),
    default_consumer: consumerName(
      "Id or username of the consumer to which requests are attributed if the certificate is valid, but its subject " +
        "names belong to no consumer.",
    ),
    authenticated_group_by: choice(["CN", "DN"], {
      description:
        "With `skip_consumer_lookup`, the name in the subject that becomes the client's group for the plugin acl: " +
        "the common name (CN) or the whole distinguished name (DN).",
      default: "CN",
    }),
    allow_partial_chain: boolean({
      description:
        "Trust intermediate CA certificates of `ca_certificates` too. By default, a chain must end in a self-signed " +
        "CA certificate.",
      default: false,
    }),
    send_ca_dn: boolean({
      description:
        "List the names of `ca_certificates` in the handshake, so that clients with several certificates can select one.",
      default: false,
    }),
    revocation_check_mode: choice(["SKIP", "IGNORE_CA_ERROR", "STRICT"], {
      description: "How revoked certificates are found. Sluice supports only SKIP: it does not look for them.",
      default: "SKIP",
    }),
    cache_ttl: decimal({
      description:
        "Seconds for which the result of a verification is reused for further requests on the connection, at most until " +
        "a certificate of the chain expires.",
      default: 60,
      minimum: 0,
      maximum: 86_400,
    }),
    cert_cache_ttl: decimal({
      description: "Has no effect. In Kong: milliseconds between two checks of revocation.",
      default: 60_000,
      minimum: 0,
    }),
    http_timeout: integer({
      description: "Has no effect. In Kong: timeout in milliseconds for checks of revocation.",
      default: 30_000,
      minimum: 0,
    }),
  },
  {
    description:
      "Requires a client certificate in the TLS handshake (mutual TLS), verifies it, and finds the consumer by its " +
      "subject names.",
    unsupportedMembers: Object.fromEntries(
      ["http_proxy_host", "http_proxy_port", "https_proxy_host", "https_proxy_port"].map((name) => [
        name,
        noRevocation(name),
      ]),
    ),
  },
);

export type MtlsAuthConfig = Static<typeof schema>;

/** In `consumer_by`, null disables the comparison; in other members, null means the default. */
const expand = (config: RecordMembers): RecordMembers =>
  config.consumer_by === null ? { ...config, consumer_by: [] } : config;

const check = ({ revocation_check_mode: mode }: RecordMembers): readonly Violation[] =>
  mode === "IGNORE_CA_ERROR" || mode === "STRICT"
    ? [
        {
          path: ["revocation_check_mode"],
          message: "Sluice does not check revocation: set SKIP, and issue certificates with short lifetimes",
        },
      ]
    : [];

export const mtlsAuthFacts = definePluginFacts({
  name: "mtls-auth",
  version: "0.1.0",
  priority: 1600,
  protects: true,
  refuses: ["consumer"],
  certificateAuthorities: ({ send_ca_dn, ca_certificates }) =>
    send_ca_dn === true && Array.isArray(ca_certificates) ? ca_certificates.map(String) : [],
  expand,
  check,
  schema,
});
