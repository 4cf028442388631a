/** The snapshot: a checked, frozen, indexed document with a content hash. */
import type { CredentialExtras, Endpoint, PluginExtras, RouteExtras } from "./document.ts";
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
/** A credential as a node holds it: the key is gone, its hash is there. */
export type SnapshotCredential = Credential & { readonly _sluice: CredentialExtras & { readonly key_hash: string } };

export interface Snapshot {
  /** Hex; equal content gives an equal hash on every node, whatever the order and the way it came. */
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
  /** Addresses by service id, for services that stand for core Services. */
  readonly endpoints: ReadonlyMap<string, readonly Endpoint[]>;
}
