/** The snapshot: a validated, frozen, indexed document with a content hash. */
import type { CredentialExtras, PluginExtras, RouteExtras, ServiceEndpoint } from "./document.ts";
import type { Credential, Entities, Plugin, Route } from "./entities/index.ts";

export type SnapshotRoute = Route & { readonly _sluice?: RouteExtras };
export type SnapshotPlugin = Plugin & { readonly _sluice?: PluginExtras };
/** A credential as a node stores it: with the hash of its key instead of the key. */
export type SnapshotCredential = Credential & { readonly _sluice: CredentialExtras & { readonly key_hash: string } };

interface SnapshotEntities extends Omit<Entities, "routes" | "plugins" | "keyauth_credentials"> {
  readonly routes: SnapshotRoute;
  readonly plugins: SnapshotPlugin;
  readonly keyauth_credentials: SnapshotCredential;
}

/** The entities of each collection by id. */
type EntityMaps = { readonly [Name in keyof Entities]: ReadonlyMap<string, SnapshotEntities[Name]> };

export interface Snapshot extends EntityMaps {
  /** Hex; equal content gives an equal hash on every node, whatever the order and the source. */
  readonly hash: string;
  /** Addresses by service id, for services with a core Service as backend. */
  readonly endpoints: ReadonlyMap<string, readonly ServiceEndpoint[]>;
}
