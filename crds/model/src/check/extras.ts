/** Sluice's own members of entities, which Kong's format does not have: they are under `_sluice` (document.ts). */

import {
  array,
  boolean,
  choice,
  decimal,
  integer,
  isRecord,
  type SchemaNode,
  text,
  type Violation,
  withoutUnset,
} from "@sluice/plugin-sdk";
import {
  type CaCertificateExtras,
  type CertificateExtras,
  type CredentialExtras,
  MAX_UPSTREAM_AUTHORITIES,
  type PluginExtras,
  type RouteExtras,
  type ServiceExtras,
  type UpstreamExtras,
} from "../document.ts";
import { MAX_TIMEOUT } from "../entities/common-members.ts";
import { type Collection, type CredentialCollection, credentialCollections } from "../entities/index.ts";
import { acmeChallengeTypes, MAX_PEM } from "../entities/tls/certificate.ts";
import { MAX_LISTENER_NAME } from "./listener.ts";
import { validateValue } from "./validate.ts";

/** The members allowed under an entity's `_sluice`, by collection; entities of other collections have none. */
export interface AllowedExtras extends Readonly<Record<CredentialCollection, CredentialExtras>> {
  readonly certificates: CertificateExtras;
  readonly ca_certificates: CaCertificateExtras;
  readonly services: ServiceExtras;
  readonly upstreams: UpstreamExtras;
  readonly routes: RouteExtras;
  readonly plugins: PluginExtras;
}

const reason = text({ description: "Why requests are answered 503.", maxLength: 1024 });
const namespace = text({ description: "A namespace of the cluster.", maxLength: 253 });

const priority = integer({
  description: "Precedence among routes of Ingress and Gateway API resources for one host: the highest comes first.",
  minimum: 0,
  maximum: 2 ** 31 - 1,
});

const pluginPriority = integer({
  description: "Order of execution, the highest first, instead of the plugin's own priority.",
  minimum: 0,
  maximum: 2 ** 31 - 1,
});

const listeners = array(text({ description: "The name of a listener.", maxLength: MAX_LISTENER_NAME }), {
  description: "The listeners of the document that serve the entity.",
  maxItems: 4096,
});

const refused_percentage = decimal({
  description: "The percentage of connections that are closed.",
  minimum: 0,
  maximum: 100,
});

/** Absent members of `_sluice` stay absent, because only Sluice reads them. Absent members of entities become null. */
const optional = (properties: Readonly<Record<string, SchemaNode>>): SchemaNode => ({
  type: "object",
  additionalProperties: false,
  properties,
});

/** As many conditions as the Gateway API allows. */
const conditions = (name: SchemaNode, description: string) =>
  array(
    {
      ...optional({
        name,
        value: text({ description: "The value, or a regular expression for it.", maxLength: 4096 }),
        type: choice(["exact", "regex"], { description: "How the value is compared." }),
      }),
      required: ["name", "value"],
      rule: "value-match",
    },
    { description, maxItems: 16 },
  );

const limitOfShare = decimal({
  description: "A limit for the random number of a request, which must be at least `from` and less than `to`.",
  minimum: 0,
  maximum: 100,
});

const http2 = boolean({ description: "Whether requests are sent over HTTP/2." });

const match = optional({
  headers: conditions(
    text({ description: "The name of a header.", rule: "header-token", maxLength: 256 }),
    "Conditions for headers.",
  ),
  query: conditions(
    text({ description: "The name of a query parameter.", maxLength: 256 }),
    "Conditions for query parameters.",
  ),
  share: {
    ...optional({ from: limitOfShare, to: limitOfShare }),
    required: ["from", "to"],
  },
});

const upstreamName: SchemaNode = {
  ...optional({
    type: choice(["dns", "uri"], { description: "The type of the name." }),
    value: text({ description: "The name.", maxLength: 2048 }),
  }),
  required: ["type", "value"],
};

const upstreamTls: SchemaNode = {
  ...optional({
    server_name: text({ description: "The server name of the TLS handshake.", rule: "host", maxLength: 253 }),
    trusted_certificates: text({
      description: "CA certificates in PEM.",
      rule: "certificate-chain",
      maxLength: MAX_UPSTREAM_AUTHORITIES,
    }),
    names: array(upstreamName, { description: "The names that the certificate may have.", maxItems: 16 }),
  }),
  required: ["server_name"],
};

const milliseconds = (description: string, minimum: number) => integer({ description, minimum, maximum: MAX_TIMEOUT });

const retry: SchemaNode = {
  ...optional({
    codes: array(integer({ description: "A status.", minimum: 400, maximum: 599 }), {
      description: "The statuses after which a request is sent again.",
      maxItems: 200,
    }),
    backoff: milliseconds("Minimum number of milliseconds between two attempts.", 0),
  }),
  required: ["codes", "backoff"],
};

const timeouts = optional({
  request: milliseconds("Maximum number of milliseconds for a request with all its attempts.", 1),
  attempt: milliseconds("Maximum number of milliseconds for each attempt.", 1),
});

const seconds = (description: string) => integer({ description, minimum: -(2 ** 31), maximum: 2 ** 31 - 1 });

const cookie = optional({
  same_site: choice(["Strict", "Lax", "None"], { description: "The attribute SameSite." }),
  secure: boolean({ description: "Whether the cookie has the attribute Secure." }),
  domain: text({ description: "The attribute Domain.", rule: "host", maxLength: 253 }),
  max_age: seconds("The attribute Max-Age in seconds."),
  expires: seconds("The seconds until the time in the attribute Expires."),
});

const credential = optional({
  key_hash: text({ description: "SHA-256 of the secret.", rule: "sha256" }),
  namespaces: array(namespace, {
    description: "The namespaces for whose routes the credential is valid; absent means all.",
    maxItems: 1024,
  }),
});

const pluginCredential = optional({
  ...credential.properties,
  unavailable: text({ description: "Why no request can use the credential.", maxLength: 1024 }),
});

/** At most one challenge for each of the domains of a certificate. */
const challenges = array(
  {
    ...optional({
      type: choice(acmeChallengeTypes, { description: "The type of the challenge." }),
      domain: text({ description: "The name that the CA validates.", rule: "acme-domain", maxLength: 253 }),
      token: text({ description: "The last part of the path (base64url).", maxLength: 256 }),
      key_authorization: text({ description: "The body of the response.", maxLength: 512 }),
      cert: text({ description: "A certificate in PEM.", rule: "certificate-chain", maxLength: MAX_PEM }),
      key: text({ description: "Its key in PEM.", rule: "private-key", maxLength: MAX_PEM }),
    }),
    required: ["type", "domain"],
    rule: "acme-challenge",
  },
  { description: "The challenges of an order that is under way.", maxItems: 100 },
);

const schemas: { readonly [Name in Collection]?: SchemaNode } = {
  certificates: optional({ listeners, challenges }),
  ca_certificates: optional({ namespace }),
  services: optional({ http2, tls: upstreamTls, retry, timeouts }),
  upstreams: optional({ cookie }),
  routes: optional({ namespace, unavailable: reason, priority, listeners, match, refused_percentage }),
  plugins: optional({ unavailable: reason, priority: pluginPriority }),
  ...Object.fromEntries(credentialCollections.map((collection) => [collection, credential])),
  plugin_credentials: pluginCredential,
};

export interface CheckedExtras {
  readonly extras:
    | (CredentialExtras & PluginExtras & RouteExtras & ServiceExtras & UpstreamExtras & CertificateExtras)
    | undefined;
  readonly violations: readonly Violation[];
}

export function checkExtras(collection: Collection, raw: unknown): CheckedExtras {
  if (raw === undefined || raw === null) return { extras: undefined, violations: [] };
  const schema = schemas[collection];
  const extras = isRecord(raw) ? withoutUnset(raw) : raw;
  const found = schema === undefined ? [{ path: [], message: "unknown field" }] : validateValue(schema, extras);
  const violations = found.map((violation) => ({ ...violation, path: ["_sluice", ...violation.path] }));
  return { extras: violations.length > 0 ? undefined : (extras as CheckedExtras["extras"]), violations };
}

/** A route with a priority has at most one host: its place in the order of precedence depends on the host. */
export function checkPriority(hosts: unknown, extras: CheckedExtras["extras"]): readonly Violation[] {
  if (extras?.priority === undefined || !Array.isArray(hosts) || hosts.length < 2) return [];
  return [{ path: ["hosts"], message: "expected at most one host, because '_sluice.priority' is set" }];
}
