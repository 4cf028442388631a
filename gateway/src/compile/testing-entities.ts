/** Complete entities for tests: every member that a test does not set has the model's default. */
import { createHash } from "node:crypto";
import type {
  AcmeChallenge,
  CaCertificate,
  Consumer,
  ConsumerGroup,
  DocumentListener,
  GraphqlDocuments,
  IssuedCertificate,
  Plugin,
  Route,
  Snapshot,
  SnapshotCertificate,
  SnapshotCredential,
  SnapshotRoute,
  SnapshotService,
  Sni,
  Target,
  Upstream,
  Vault,
} from "@sluice/model";

/** A stable UUID for a word. */
export function idOf(word: string): string {
  const hex = createHash("sha256").update(word).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), `5${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-",
  );
}

export const serviceNamed = (name: string, members: Partial<SnapshotService> = {}): SnapshotService => ({
  id: idOf(`service ${name}`),
  created_at: 0,
  updated_at: 0,
  name,
  retries: 5,
  protocol: "http",
  host: "127.0.0.1",
  port: 80,
  path: null,
  connect_timeout: 60_000,
  write_timeout: 60_000,
  read_timeout: 60_000,
  tags: null,
  client_certificate: null,
  tls_verify: null,
  tls_verify_depth: null,
  ca_certificates: null,
  enabled: true,
  upstream_headers: null,
  retry_budget: null,
  ...members,
});

export const routeNamed = (name: string, members: Partial<SnapshotRoute> = {}): SnapshotRoute => ({
  id: idOf(`route ${name}`),
  created_at: 0,
  updated_at: 0,
  name,
  protocols: ["http", "https"] as Route["protocols"],
  methods: null,
  hosts: null,
  paths: null,
  headers: null,
  snis: null,
  sources: null,
  destinations: null,
  https_redirect_status_code: 426,
  strip_path: true,
  preserve_host: false,
  regex_priority: 0,
  path_handling: "v0",
  request_buffering: true,
  response_buffering: true,
  tags: null,
  service: null,
  ...members,
});

export const pluginEntityNamed = (name: string, members: Partial<Plugin> = {}): Plugin => ({
  id: idOf(
    `plugin ${name} ${JSON.stringify([members.route, members.service, members.consumer, members.consumer_group])}`,
  ),
  created_at: 0,
  updated_at: 0,
  name,
  instance_name: null,
  route: null,
  service: null,
  consumer: null,
  consumer_group: null,
  config: {},
  protocols: ["grpc", "grpcs", "http", "https"],
  enabled: true,
  tags: null,
  ...members,
});

export const consumerNamed = (username: string): Consumer => ({
  id: idOf(`consumer ${username}`),
  created_at: 0,
  updated_at: 0,
  username,
  custom_id: null,
  tags: null,
});

export const vaultNamed = (prefix: string, variables: string | null = null): Vault => ({
  id: idOf(`vault ${prefix}`),
  created_at: 0,
  updated_at: 0,
  prefix,
  name: "env",
  description: null,
  config: variables === null ? null : { prefix: variables },
  tags: null,
});

export const graphqlDocumentsNamed = (name: string, manifest = "{}"): GraphqlDocuments => ({
  id: idOf(`GraphQL documents ${name}`),
  created_at: 0,
  updated_at: 0,
  name,
  manifest,
  tags: null,
});

export const groupNamed = (name: string): ConsumerGroup => ({
  id: idOf(`group ${name}`),
  created_at: 0,
  updated_at: 0,
  name,
  tags: null,
});

export const membershipOf = (
  consumer: Consumer,
  group: ConsumerGroup,
): SnapshotCredential<"consumer_group_consumers"> => ({
  id: idOf(`membership ${consumer.id} ${group.id}`),
  created_at: 0,
  consumer: { id: consumer.id },
  consumer_group: { id: group.id },
  tags: null,
});

export const keyCredential = (
  consumer: Consumer,
  key: string,
  members: Partial<SnapshotCredential<"keyauth_credentials">> & { readonly namespaces?: readonly string[] } = {},
): SnapshotCredential<"keyauth_credentials"> => {
  const { namespaces, ...rest } = members;
  return {
    id: idOf(`credential ${key} ${namespaces}`),
    created_at: 0,
    consumer: { id: consumer.id },
    key: null,
    tags: null,
    ttl: null,
    ...rest,
    _sluice: { key_hash: createHash("sha256").update(key).digest("hex"), ...(namespaces && { namespaces }) },
  };
};

/** A certificate, and the SNI by which it is presented for the server name `name`. */
export function certificateNamed(name: string, { certificate: cert, key }: { certificate: string; key: string }) {
  const times = { created_at: 0, updated_at: 0, tags: null };
  const id = idOf(`certificate ${name} ${cert}`);
  const certificate: IssuedCertificate = { id, ...times, cert, key, cert_alt: null, key_alt: null, acme: null };
  const sni: Sni = { id: idOf(`sni ${name}`), ...times, name, certificate: { id } };
  return { certificate, sni };
}

/** A certificate that is ordered, and not issued yet. */
export const orderedCertificate = (challenges: readonly AcmeChallenge[]): SnapshotCertificate => ({
  id: idOf("ordered certificate"),
  created_at: 0,
  updated_at: 0,
  cert: null,
  key: null,
  cert_alt: null,
  key_alt: null,
  acme: { domains: null, challenge: "http-01", directory: null, key_type: "ecdsa" },
  tags: null,
  _sluice: { challenges },
});

export const caCertificateOf = (cert: string, name = cert): CaCertificate => ({
  id: idOf(`CA certificate ${name}`),
  created_at: 0,
  updated_at: 0,
  cert,
  cert_digest: createHash("sha256").update(cert).digest("hex"),
  tags: null,
});

/** A snapshot of these entities. Its hash is made up: nothing under test reads it. */
export function snapshotOfEntities(content: {
  readonly certificates?: readonly SnapshotCertificate[];
  readonly caCertificates?: readonly CaCertificate[];
  readonly snis?: readonly Sni[];
  readonly upstreams?: readonly Upstream[];
  readonly targets?: readonly Target[];
  readonly services?: readonly SnapshotService[];
  readonly routes?: readonly SnapshotRoute[];
  readonly plugins?: readonly Plugin[];
  readonly consumers?: readonly Consumer[];
  readonly credentials?: readonly SnapshotCredential<"keyauth_credentials">[];
  readonly groups?: readonly ConsumerGroup[];
  readonly memberships?: readonly SnapshotCredential<"consumer_group_consumers">[];
  readonly vaults?: readonly Vault[];
  readonly graphqlDocuments?: readonly GraphqlDocuments[];
  readonly endpoints?: Snapshot["endpoints"];
  readonly upstreamEndpoints?: Snapshot["upstream_endpoints"];
  readonly listeners?: readonly DocumentListener[];
}): Snapshot {
  const byId = <Item extends { readonly id: string }>(items: readonly Item[] = []) =>
    new Map(items.map((item) => [item.id, item]));
  return {
    hash: "00",
    certificates: byId(content.certificates),
    ca_certificates: byId(content.caCertificates),
    snis: byId(content.snis),
    upstreams: byId(content.upstreams),
    targets: byId(content.targets),
    services: byId(content.services),
    routes: byId(content.routes),
    plugins: byId(content.plugins),
    vaults: byId(content.vaults),
    consumers: byId(content.consumers),
    keyauth_credentials: byId(content.credentials),
    jwt_secrets: byId(),
    basicauth_credentials: byId(),
    hmacauth_credentials: byId(),
    mtls_auth_credentials: byId(),
    acls: byId(),
    consumer_groups: byId(content.groups),
    consumer_group_consumers: byId(content.memberships),
    plugin_credentials: byId(),
    graphql_documents: byId(content.graphqlDocuments),
    endpoints: content.endpoints ?? new Map(),
    upstream_endpoints: content.upstreamEndpoints ?? new Map(),
    listeners: new Map((content.listeners ?? []).map((listener) => [listener.name, listener])),
  };
}
