/** The snapshot: a validated, frozen, indexed document with a content hash. */
import type {
  CaCertificateExtras,
  CertificateExtras,
  CredentialExtras,
  DocumentListener,
  PluginExtras,
  RouteExtras,
  ServiceEndpoint,
  ServiceExtras,
  UpstreamEndpoint,
  UpstreamExtras,
} from "./document.ts";
import type {
  CaCertificate,
  Certificate,
  CredentialCollection,
  Entities,
  Plugin,
  Route,
  Service,
  Upstream,
} from "./entities/index.ts";

export type SnapshotCaCertificate = CaCertificate & { readonly _sluice?: CaCertificateExtras };
export type SnapshotCertificate = Certificate & { readonly _sluice?: CertificateExtras };
export type SnapshotService = Service & { readonly _sluice?: ServiceExtras };
export type SnapshotUpstream = Upstream & { readonly _sluice?: UpstreamExtras };
export type SnapshotRoute = Route & { readonly _sluice?: RouteExtras };
export type SnapshotPlugin = Plugin & { readonly _sluice?: PluginExtras };
/** A credential as a node stores it: secret lookup values and passwords of basic-auth are replaced by their hashes. */
export type SnapshotCredential<Name extends CredentialCollection = CredentialCollection> = Entities[Name] & {
  readonly _sluice?: CredentialExtras;
};

type SnapshotEntities = Omit<
  Entities,
  "certificates" | "ca_certificates" | "services" | "upstreams" | "routes" | "plugins" | CredentialCollection
> & {
  readonly certificates: SnapshotCertificate;
  readonly ca_certificates: SnapshotCaCertificate;
  readonly services: SnapshotService;
  readonly upstreams: SnapshotUpstream;
  readonly routes: SnapshotRoute;
  readonly plugins: SnapshotPlugin;
} & { readonly [Name in CredentialCollection]: SnapshotCredential<Name> };

/** The entities of each collection by id. */
type EntityMaps = { readonly [Name in keyof Entities]: ReadonlyMap<string, SnapshotEntities[Name]> };

export interface Snapshot extends EntityMaps {
  /** Hex; equal content has an equal hash on every node, whatever the order of entities and the node's source. */
  readonly hash: string;
  /** Addresses by service id, for services with a core Service as backend. */
  readonly endpoints: ReadonlyMap<string, readonly ServiceEndpoint[]>;
  /** Addresses by upstream id, for upstreams with core Services as backends. */
  readonly upstream_endpoints: ReadonlyMap<string, readonly UpstreamEndpoint[]>;
  /** Listeners by name. */
  readonly listeners: ReadonlyMap<string, DocumentListener>;
}
