/** The snapshot: a validated, frozen, indexed document with a content hash. */
import type { CredentialExtras, PluginExtras, RouteExtras, ServiceEndpoint } from "./document.ts";
import type {
  Certificate,
  Consumer,
  Credential,
  Plugin,
  Route,
  Service,
  Sni,
  Target,
  Upstream,
} from "./entities/index.ts";

export type SnapshotRoute = Route & { readonly _sluice?: RouteExtras };
export type SnapshotPlugin = Plugin & { readonly _sluice?: PluginExtras };
/** A credential as a node stores it: with the hash of its key instead of the key. */
export type SnapshotCredential = Credential & { readonly _sluice: CredentialExtras & { readonly key_hash: string } };

export interface Snapshot {
  /** Hex; equal content gives an equal hash on every node, whatever the order and the source. */
  readonly hash: string;
  readonly certificates: ReadonlyMap<string, Certificate>;
  readonly snis: ReadonlyMap<string, Sni>;
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly targets: ReadonlyMap<string, Target>;
  readonly services: ReadonlyMap<string, Service>;
  readonly routes: ReadonlyMap<string, SnapshotRoute>;
  readonly plugins: ReadonlyMap<string, SnapshotPlugin>;
  readonly consumers: ReadonlyMap<string, Consumer>;
  readonly keyauth_credentials: ReadonlyMap<string, SnapshotCredential>;
  /** Addresses by service id, for services with a core Service as backend. */
  readonly endpoints: ReadonlyMap<string, readonly ServiceEndpoint[]>;
}
