/** The world: every resource that the operator reads, as it stands now, by kind and `namespace/name`. */
import type { Kind, Resource } from "@sluice/crds";

export const watchedKinds = [
  "Certificate",
  "Upstream",
  "Service",
  "Route",
  "Plugin",
  "Consumer",
  "Secret",
  "CoreService",
  "EndpointSlice",
  "ReferenceGrant",
] as const satisfies readonly Kind[];

export type WatchedKind = (typeof watchedKinds)[number];

export type World = Readonly<Record<WatchedKind, ReadonlyMap<string, Resource>>>;
