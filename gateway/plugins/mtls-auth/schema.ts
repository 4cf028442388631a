/**
 * Config of mtls-auth: clients need a certificate of a trusted authority. The members from `response_style` on
 * correspond to annotations of ingress-nginx, and do not exist in Kong.
 */
import { X509Certificate } from "node:crypto";
import {
  array,
  boolean,
  choice,
  decimal,
  definePluginFacts,
  integer,
  isEmptyValue,
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

const MAX_INTERMEDIATES = 8;

const schema = record(
  {
    ca_certificates: nullable(
      array(text({ description: "An id.", rule: "uuid" }), {
        description:
          "Ids of the CA certificates that clients' certificates are verified with. Required without " +
          "`trusted_certificates`.",
        minItems: 1,
        maxItems: 64,
      }),
    ),
    anonymous: consumerName(
      "Id or username of the consumer to which requests without a valid certificate are attributed.",
    ),
    consumer_by: set(choice(["username", "custom_id"], { description: "A member of consumers." }), {
      description:
        "Fields of consumers that are compared with the subject names of the certificate. Empty or null: consumers " +
        "are found only by `mtls_auth_credentials`.",
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
    response_style: choice(["kong", "nginx"], {
      description:
        "`kong`: the plugin authenticates a consumer, and refuses with 401. `nginx`: the plugin only verifies, as " +
        "ingress-nginx does; it refuses with 400, and the upstream gets the headers Ssl-Client-Verify, " +
        "Ssl-Client-Subject-Dn and Ssl-Client-Issuer-Dn. Fields that concern consumers are then refused.",
      default: "kong",
    }),
    trusted_certificates: nullable(
      text({
        description: "Certificates in PEM that are trusted in addition to `ca_certificates`.",
        maxLength: 65_536,
      }),
    ),
    // Not "on": in YAML 1.1, which decK writes, this is the boolean true.
    verify_client: choice(["required", "optional", "optional_no_ca"], {
      description:
        "`required`: every request needs a valid certificate. `optional`: requests without a certificate are admitted. " +
        "`optional_no_ca`: also those with a certificate of an unknown authority. Values other than `required` need " +
        "`response_style: nginx`, and the upstream has to look at Ssl-Client-Verify.",
      default: "required",
    }),
    max_intermediates: nullable(
      integer({
        description: "Maximum number of certificates between the client's certificate and the trusted one. Null: 8.",
        minimum: 0,
        maximum: MAX_INTERMEDIATES,
      }),
    ),
    subject_pattern: nullable(
      text({
        description:
          "Regular expression that a part of the certificate's subject must match, such as `CN=machine`. The subject " +
          "begins with its most specific part. Requests with another subject are refused with 403. Needs " +
          "`response_style: nginx`.",
        rule: "regex",
        maxLength: 1024,
      }),
    ),
    error_page: nullable(
      text({
        description:
          "URL to which requests are redirected (302) instead of being refused with 400. Needs `response_style: " +
          "nginx`.",
        maxLength: 4096,
      }),
    ),
    pass_certificate: boolean({
      description:
        "Send the client's certificate to the upstream in the header Ssl-Client-Cert, as PEM in URL encoding. Needs " +
        "`response_style: nginx`.",
      default: false,
    }),
  },
  {
    description:
      "Requires a client certificate in the TLS handshake (mutual TLS), verifies it, and finds the consumer by the " +
      "certificate's subject names.",
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

type Violations = readonly Violation[];

const violation = (member: string, message: string): Violations => [{ path: [member], message }];

const check = (config: RecordMembers): Violations => [
  ...revocationViolations(config),
  ...trustViolations(config),
  ...(config.response_style === "nginx" ? nginxViolations(config) : kongViolations(config)),
];

const revocationViolations = ({ revocation_check_mode: mode }: RecordMembers): Violations =>
  mode === "IGNORE_CA_ERROR" || mode === "STRICT"
    ? violation(
        "revocation_check_mode",
        "Sluice does not check revocation: set SKIP, and issue certificates with short lifetimes",
      )
    : [];

function trustViolations({ ca_certificates: ids, trusted_certificates: pem }: RecordMembers): Violations {
  if (typeof pem === "string") {
    const message = "expected certificates in PEM";
    return certificatesIn(pem) === null ? violation("trusted_certificates", message) : [];
  }
  return ids === null || ids === undefined ? violation("ca_certificates", "required field missing") : [];
}

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The certificates of a text in PEM, which may have comments between them; null: there is none, or one is invalid. */
export function certificatesIn(pem: string): readonly X509Certificate[] | null {
  const blocks = pem.match(BLOCK) ?? [];
  if (blocks.length === 0 || blocks.length !== pem.split("-----BEGIN").length - 1) return null;
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    return null;
  }
}

/** The members that select a consumer. */
const consumerMembers = ["anonymous", "default_consumer", "skip_consumer_lookup"] as const;

const nginxViolations = (config: RecordMembers): Violations => [
  ...consumerMembers.flatMap((member) =>
    isEmptyValue(config[member]) || config[member] === false
      ? []
      : violation(member, "has no meaning with response_style: nginx, which finds no consumer: remove it"),
  ),
  ...(typeof config.error_page === "string" && !isWebAddress(config.error_page)
    ? violation("error_page", "expected a URL with http or https")
    : []),
];

const isWebAddress = (url: string): boolean => /^https?:$/.test(URL.parse(url)?.protocol ?? "");

const kongViolations = (config: RecordMembers): Violations =>
  [
    ...(config.verify_client === "required" || config.verify_client === undefined ? [] : ["verify_client"]),
    ...["subject_pattern", "error_page"].filter((member) => !isEmptyValue(config[member])),
    ...(config.pass_certificate === true ? ["pass_certificate"] : []),
  ].flatMap((member) => violation(member, "needs response_style: nginx"));

export const mtlsAuthFacts = definePluginFacts({
  name: "mtls-auth",
  version: "0.1.0",
  priority: 1600,
  protects: true,
  identifies: true,
  refuses: ["consumer"],
  certificateAuthorities: ({ send_ca_dn, ca_certificates }) =>
    send_ca_dn === true && Array.isArray(ca_certificates) ? ca_certificates.map(String) : [],
  expand,
  check,
  schema,
});
