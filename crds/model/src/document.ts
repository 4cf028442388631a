/**
 * The document: the declarative form of all entities as plain data, unchecked (the shape with `_format_version`).
 *
 * A person's file may nest children in parents and refer by name; the operator pushes the flat form. Members of
 * ours stand under `_sluice`, which a person's file does not need.
 */
import type { Collection } from "./entities/index.ts";

/** One address of an upstream, from an EndpointSlice. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
  /** Serving while terminating: gets no new requests while others are there (KEP-1672). */
  readonly terminating?: boolean;
  /** The core Service's own address: only for when no connection to any other address can be made. */
  readonly fallback?: boolean;
}

/** Facts that custom resources carry and Kong's format has no member for. */
export interface RouteExtras {
  /** The namespace of the route's custom resource; a key may be bound to namespaces. */
  readonly namespace?: string;
  /** Set: the route fails closed. It answers 503 for this reason, which the node logs. */
  readonly unavailable?: string;
}

export interface PluginExtras {
  /**
   * Set: the plugin protects something, or may do so because it is not known, and it cannot run; so wherever it would
   * act the answer is 503, for this reason (fail closed). Its name need not be a plugin's.
   */
  readonly unavailable?: string;
}

export interface CredentialExtras {
  /** SHA-256 of the key in hex. A pushed document carries this and never a key. */
  readonly key_hash?: string;
  /** The namespaces whose routes the key opens; absent = all. */
  readonly namespaces?: readonly string[];
}

/** The flat document. Items are plain data that nobody has checked yet. */
export type Document = {
  readonly _format_version: string;
  readonly _transform?: boolean;
  readonly _sluice?: { readonly endpoints?: Readonly<Record<string, readonly Endpoint[]>> };
} & { readonly [Name in Collection]?: readonly unknown[] };

/** What differs from a snapshot. A full document is a change from the empty snapshot. */
export interface Change {
  /** Items to add or to replace by id. */
  readonly put: { readonly [Name in Collection]?: readonly unknown[] };
  /** Ids to remove. */
  readonly remove: { readonly [Name in Collection]?: readonly string[] };
  /** Addresses by service id; null removes. */
  readonly endpoints?: Readonly<Record<string, readonly Endpoint[] | null>>;
}
