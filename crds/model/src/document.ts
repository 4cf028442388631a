/**
 * The document: the declarative form of all entities as plain data, not yet validated (the shape with
 * `_format_version`).
 *
 * A file written by a person may nest children in parents and refer by name; the operator pushes the flat form.
 * Sluice's own members are under `_sluice`, which hand-written files do not need.
 */
import type { Collection } from "./entities/index.ts";

/**
 * The zones whose nodes should prefer the endpoint (the hints `forZones` of its EndpointSlice, KEP-2433). Absent: there
 * are no hints, or the upstream has several core Services, whose parts of the requests a preference would change.
 */
export type EndpointZones = readonly string[];

/** An address behind a core Service, from an EndpointSlice; or with `fallback` the Service's own address. */
export interface ServiceEndpoint {
  readonly address: string;
  readonly port: number;
  /** Serving while terminating: receives no new requests while other endpoints are available (KEP-1672). */
  readonly terminating?: boolean;
  readonly zones?: EndpointZones;
  /** The core Service's own address, used only when no connection to any of the endpoints can be made. */
  readonly fallback?: boolean;
}

/** An address behind a core Service of an upstream, from an EndpointSlice. */
export interface UpstreamEndpoint {
  readonly address: string;
  readonly port: number;
  /** In units of `ENDPOINT_WEIGHT_UNIT`, because the endpoints of a core Service share its weight. 0: no requests. */
  readonly weight: number;
  readonly zones?: EndpointZones;
}

/**
 * An endpoint's weight of 1, as a part of a target's weight of 1. The weight of a core Service is divided by the number
 * of its endpoints and rounded to this unit: with 10,000 endpoints the error is below 1 %. A power of two, so that sums
 * and differences of weights are exact in a node.
 */
export const ENDPOINT_WEIGHT_UNIT = 2 ** -20;

/** The maximum weight of an endpoint: more than that of an address behind 16 core Services with the maximum weight. */
export const MAX_ENDPOINT_WEIGHT = 2 ** 40;

/**
 * The sections of addresses under `_sluice`, each with the collection whose ids are its keys. A service and an upstream
 * may have the same id, so they do not share a section.
 */
export const endpointSections = { endpoints: "services", upstream_endpoints: "upstreams" } as const;

export type EndpointSection = keyof typeof endpointSections;
export type PerEndpointSection<Value> = Readonly<Record<EndpointSection, Value>>;

export const perEndpointSection = <Value>(make: (section: EndpointSection) => Value): PerEndpointSection<Value> => ({
  endpoints: make("endpoints"),
  upstream_endpoints: make("upstream_endpoints"),
});

/** The addresses of one service or upstream. */
export interface EndpointLists {
  readonly endpoints: readonly ServiceEndpoint[];
  readonly upstream_endpoints: readonly UpstreamEndpoint[];
}

/**
 * `tls`: TLS ends at the gateway, and the backend gets the bytes without TLS. `tls_passthrough`: the backend gets the
 * connection as it is; the gateway reads only the server name. The names are those of Kong's routes.
 */
export type StreamProtocol = "tls" | "tls_passthrough";

/**
 * A port that nodes open in addition to their own listeners, for a listener of a Gateway (Gateway API). Several
 * listeners may share a port if they have different host names, and if all or none of them use TLS.
 */
export interface DocumentListener {
  /**
   * Unique: `<namespace>/<gateway>/<listener>`, or `<namespace>/<gateway>/<namespace>/<listenerset>/<listener>` for a
   * listener of a ListenerSet.
   */
  readonly name: string;
  /** The port that nodes open. */
  readonly port: number;
  /** The port that clients use; the core Service of the Gateway maps it to `port`. */
  readonly public_port: number;
  readonly protocol: "http" | "https" | StreamProtocol;
  /** In lower case; `*.` stands for one or more labels. Absent: all hosts. */
  readonly hostname?: string;
  /** Clients are asked for a certificate. Only with https and tls. Absent: they are not, unless a plugin needs it. */
  readonly client_validation?: ListenerClientValidation;
  /**
   * The names of the fleets whose nodes open the port. A fleet is the set of nodes that receive the same document; the
   * nodes of the release are the `SHARED_FLEET`. The operator sends a listener, and the entities that only this
   * listener needs, to these fleets only. Absent: the shared fleet.
   */
  readonly fleets?: readonly string[];
}

/** The name of the fleet that the nodes of the release form. */
export const SHARED_FLEET = "shared";

export interface ListenerClientValidation {
  /**
   * `required`: a connection without a valid certificate is closed. `optional`: it is served, and only plugins look at
   * the certificate.
   */
  readonly mode: "required" | "optional";
  /** Certificates in PEM, each of which is a trust anchor. */
  readonly trusted_certificates: string;
}

/** A condition for the value of a header or of a query parameter. */
export interface ValueMatch {
  readonly name: string;
  readonly value: string;
  /** `exact`: equal, in the same case; `regex`: the regular expression `value` matches the whole value. Default exact. */
  readonly type?: "exact" | "regex";
}

/**
 * A part of the requests: those whose random number, at least 0 and below 100, is at least `from` and below `to`. A
 * request has one number for all routes.
 */
export interface RequestShare {
  readonly from: number;
  readonly to: number;
}

/** Conditions for requests, all of which must hold. */
export interface RequestMatch {
  /** Names are case-insensitive. The values of a repeated header are joined by `, ` (RFC 9110 section 5.3). */
  readonly headers?: readonly ValueMatch[];
  /** Names are case-sensitive. Of a repeated parameter, the first value counts. */
  readonly query?: readonly ValueMatch[];
  /** Divides requests between routes that are otherwise equal. */
  readonly share?: RequestShare;
}

/** Facts of a route's custom resource for which Kong's format has no member. */
export interface RouteExtras {
  /** The namespace of the route's custom resource; a key may be restricted to namespaces. */
  readonly namespace?: string;
  /** If set, the route fails closed: it answers 503, and the node logs this reason. */
  readonly unavailable?: string;
  /**
   * Set for routes of Ingress and Gateway API resources, whose order of precedence is not Kong's: the more specific
   * host, the higher priority, the older route, the name that sorts first. The priority expresses all other rules of
   * these APIs, so the paths, methods and headers of such a route do not count. The route has at most one host.
   */
  readonly priority?: number;
  /**
   * The names of the document's listeners on which the route is served; names of other listeners have no effect.
   * Absent: the route is served on the node's own proxy listeners.
   */
  readonly listeners?: readonly string[];
  /** Conditions in addition to the route's own members. They do not count for the order of precedence. */
  readonly match?: RequestMatch;
  /**
   * The percentage of connections that are closed, because they are for backends that cannot be used. Only for the
   * protocols `tls` and `tls_passthrough`: requests for such backends have a route of their own. Default 0.
   */
  readonly refused_percentage?: number;
}

/** The maximum length of `trusted_certificates`: enough for a bundle of all CAs that operating systems trust. */
export const MAX_UPSTREAM_AUTHORITIES = 2 ** 18;

/** A name of which the certificate of an upstream must have at least one. */
export interface UpstreamName {
  /** `dns`: a host, or with `*.` at its start any host below it; `uri`: the whole URI. */
  readonly type: "dns" | "uri";
  readonly value: string;
}

/** The TLS connections to an upstream with a BackendTLSPolicy (Gateway API). */
export interface UpstreamTls {
  /** The server name of the handshake (SNI). The certificate must be valid for it, unless `names` is set. */
  readonly server_name: string;
  /** CA certificates in PEM, by which the certificate is verified. Absent: those of the service, as for any service. */
  readonly trusted_certificates?: string;
  /** Absent: `server_name` is verified. */
  readonly names?: readonly UpstreamName[];
}

/** Attempts after certain statuses. They and those after failed connections are at most `retries` of the service. */
export interface UpstreamRetry {
  /** The statuses of responses after which a request is sent again. */
  readonly codes: readonly number[];
  /** Minimum number of milliseconds between two attempts. */
  readonly backoff: number;
}

/** Limits in milliseconds, each until the response is complete. Absent: no limit. */
export interface UpstreamTimeouts {
  /** Of a request, with all attempts. */
  readonly request?: number;
  /** Of each attempt. */
  readonly attempt?: number;
}

/** Facts of the resource from which a service is derived, for which Kong's format has no member. */
export interface ServiceExtras {
  /** True: requests are sent over HTTP/2, without TLS with prior knowledge (RFC 9113 section 3.3). */
  readonly http2?: boolean;
  readonly tls?: UpstreamTls;
  readonly retry?: UpstreamRetry;
  readonly timeouts?: UpstreamTimeouts;
}

/** Attributes of the cookie that clients get for hashing. */
export interface UpstreamCookie {
  /** Default Lax. */
  readonly same_site?: "Strict" | "Lax" | "None";
  /** Default: the cookie has the attribute Secure if the request has arrived over https. */
  readonly secure?: boolean;
  /** A host, with the hosts below it. Default: only the requested host. */
  readonly domain?: string;
  /** Seconds. Default: the cookie ends with the session of the browser. */
  readonly max_age?: number;
  /** Seconds until the time in the attribute Expires. Browsers use it only without `max_age`. */
  readonly expires?: number;
}

/** Facts of the resource from which an upstream is derived, for which Kong's format has no member. */
export interface UpstreamExtras {
  /** Absent: the cookie has `SameSite=Lax` and none of the other attributes. */
  readonly cookie?: UpstreamCookie;
}

/**
 * What a CA asks for before it issues a certificate. The nodes answer it while the order is under way.
 *
 * - `http-01` (RFC 8555 section 8.3): a request to `/.well-known/acme-challenge/<token>` gets `key_authorization`.
 * - `tls-alpn-01` (RFC 8737): a handshake for `domain` with the protocol `acme-tls/1` gets this certificate, which only
 *   the CA accepts. `cert` and `key` are PEM.
 */
export type AcmeChallenge =
  | {
      readonly type: "http-01";
      readonly domain: string;
      readonly token: string;
      readonly key_authorization: string;
    }
  | { readonly type: "tls-alpn-01"; readonly domain: string; readonly cert: string; readonly key: string };

export interface CertificateExtras {
  /** The challenges of the certificate's order. Absent: no order is under way. */
  readonly challenges?: readonly AcmeChallenge[];
  /**
   * The names of the document's listeners that present the certificate, for the server names that match their
   * `hostname`. Absent: the node's own TLS listener presents it, for its SNIs.
   */
  readonly listeners?: readonly string[];
}

export interface CaCertificateExtras {
  /** The namespace of the custom resource. CA certificates of different namespaces may be equal. */
  readonly namespace?: string;
}

export interface PluginExtras {
  /**
   * Set for a plugin that cannot run and that protects, or may protect because it is unknown. Wherever the plugin would
   * act, requests are answered 503 (fail closed); the text is the reason. The name of such a plugin may be unknown.
   */
  readonly unavailable?: string;
  /** Order of execution, the highest first, instead of the plugin's own priority. Default: the plugin's own. */
  readonly priority?: number;
}

export interface CredentialExtras {
  /**
   * The `lookupHash` of a secret by which requests identify their credential, such as the key of key-auth. A pushed
   * document contains this hash and never the secret.
   */
  readonly key_hash?: string;
  /** The namespaces for whose routes the credential is valid; absent means all. */
  readonly namespaces?: readonly string[];
  /**
   * Set by a node for a plugin's credential if the node lacks the plugin, or has a version of the plugin that refuses
   * the credential: no request can use the credential. The text is the reason.
   */
  readonly unavailable?: string;
}

/** The flat document. Items are plain data, not yet validated. */
export type Document = {
  readonly _format_version: string;
  readonly _transform?: boolean;
  readonly _sluice?: { readonly [Name in EndpointSection]?: Readonly<Record<string, EndpointLists[Name]>> } & {
    readonly listeners?: readonly DocumentListener[];
  };
} & { readonly [Name in Collection]?: readonly unknown[] };

/** A change of a snapshot. A full document is a change of the empty snapshot. */
export interface Change extends EndpointChanges {
  /** Items to add or to replace by id. */
  readonly put: { readonly [Name in Collection]?: readonly unknown[] };
  readonly remove: { readonly [Name in Collection]?: readonly string[] };
  /** Listeners by name; null removes a listener. */
  readonly listeners?: Readonly<Record<string, DocumentListener | null>>;
}

/** Addresses by the id of the service or upstream; null removes the addresses. */
export type EndpointChanges = {
  readonly [Name in EndpointSection]?: Readonly<Record<string, EndpointLists[Name] | null>>;
};
