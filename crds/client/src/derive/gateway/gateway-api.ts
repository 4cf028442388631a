/**
 * The members of Gateway API resources that are read (gateway.networking.k8s.io/v1). The API server has validated them
 * and filled in the defaults of the CRDs; resources of a directory may lack both.
 */
import type { DocumentListener, StreamProtocol } from "@sluice/model";
import type { Resource } from "../../resource.ts";

export const GATEWAY_API = "gateway.networking.k8s.io";

/** The kinds of routes that are served. */
export const routeKinds = ["HTTPRoute", "GRPCRoute", "TLSRoute"] as const;
export type RouteKind = (typeof routeKinds)[number];

/** The kind with its article, for messages. */
export const withArticle = (kind: RouteKind): string => (kind === "HTTPRoute" ? `an ${kind}` : `a ${kind}`);

/** The kinds that have listeners. */
export type ListenerOwnerKind = "Gateway" | "ListenerSet";

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export interface ObjectReference {
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface AllowedNamespaces {
  readonly from?: string;
  readonly selector?: LabelSelector;
}

export interface Listener {
  readonly name: string;
  readonly hostname?: string;
  readonly port: number;
  readonly protocol: string;
  readonly tls?: { readonly mode?: string; readonly certificateRefs?: readonly ObjectReference[] };
  readonly allowedRoutes?: {
    readonly namespaces?: AllowedNamespaces;
    readonly kinds?: readonly { readonly group?: string; readonly kind: string }[];
  };
}

/** How certificates of clients are verified. */
export interface FrontendValidation {
  readonly mode?: string;
  readonly caCertificateRefs: readonly ObjectReference[];
}

export interface FrontendTls {
  readonly default?: { readonly validation?: FrontendValidation };
  readonly perPort?: readonly { readonly port: number; readonly tls?: { readonly validation?: FrontendValidation } }[];
}

export interface GatewaySpec {
  readonly gatewayClassName: string;
  readonly listeners: readonly Listener[];
  readonly addresses?: readonly { readonly type?: string; readonly value?: string }[];
  readonly infrastructure?: { readonly parametersRef?: ObjectReference };
  readonly tls?: {
    readonly frontend?: FrontendTls;
    readonly backend?: { readonly clientCertificateRef?: ObjectReference };
  };
  readonly allowedListeners?: { readonly namespaces?: AllowedNamespaces };
}

export interface ListenerSetSpec {
  /** Absent only in a directory. */
  readonly parentRef?: ObjectReference;
  readonly listeners: readonly Listener[];
}

export interface ParentReference extends ObjectReference {
  readonly sectionName?: string;
  readonly port?: number;
}

export interface HttpPathMatch {
  readonly type?: "Exact" | "PathPrefix" | "RegularExpression";
  readonly value?: string;
}

export interface NamedValueMatch {
  readonly type?: "Exact" | "RegularExpression";
  readonly name: string;
  readonly value: string;
}

export interface HttpRouteMatch {
  readonly path?: HttpPathMatch;
  readonly headers?: readonly NamedValueMatch[];
  readonly queryParams?: readonly NamedValueMatch[];
  readonly method?: string;
}

export interface RouteFilter {
  readonly type: string;
  readonly [member: string]: unknown;
}

export interface BackendReference extends ObjectReference {
  readonly port?: number;
  readonly weight?: number;
  readonly filters?: readonly RouteFilter[];
}

export interface GrpcMethodMatch {
  readonly type?: "Exact" | "RegularExpression";
  readonly service?: string;
  readonly method?: string;
}

export interface GrpcRouteMatch {
  readonly method?: GrpcMethodMatch;
  readonly headers?: readonly NamedValueMatch[];
}

export interface RouteRule {
  readonly matches?: readonly (HttpRouteMatch | GrpcRouteMatch)[];
  readonly filters?: readonly RouteFilter[];
  readonly backendRefs?: readonly BackendReference[];
  readonly timeouts?: { readonly request?: string; readonly backendRequest?: string };
  readonly retry?: { readonly codes?: readonly number[]; readonly attempts?: number; readonly backoff?: string };
  readonly sessionPersistence?: object;
}

export interface GatewayRouteSpec {
  readonly parentRefs?: readonly ParentReference[];
  readonly hostnames?: readonly string[];
  readonly rules?: readonly RouteRule[];
}

/** The protocol in the document of a listener that is not for HTTP; undefined: it is for HTTP, or is not served. */
export function streamOf({ protocol, tls }: Pick<Listener, "protocol" | "tls">): StreamProtocol | undefined {
  if (protocol !== "TLS") return undefined;
  return tls?.mode === "Passthrough" ? "tls_passthrough" : "tls";
}

const httpProtocols: Readonly<Record<string, DocumentListener["protocol"]>> = { HTTP: "http", HTTPS: "https" };

/** The protocol of a listener as the document names it; undefined: it is not supported. */
export const documentProtocolOf = (
  listener: Pick<Listener, "protocol" | "tls">,
): DocumentListener["protocol"] | undefined => streamOf(listener) ?? httpProtocols[listener.protocol];

export const gatewaySpecOf = ({ spec }: Resource): GatewaySpec => spec as unknown as GatewaySpec;
/** The addresses that a Gateway asks for. */
export const requestedAddresses = (gateway: Resource): readonly string[] =>
  (gatewaySpecOf(gateway).addresses ?? []).flatMap(({ value = "" }) => (value === "" ? [] : [value]));

export const listenerSetSpecOf = ({ spec }: Resource): ListenerSetSpec => (spec ?? {}) as unknown as ListenerSetSpec;
export const routeSpecOf = ({ spec }: Resource): GatewayRouteSpec => (spec ?? {}) as GatewayRouteSpec;

/** The status, the reason and the message of a condition. */
export interface ConditionFinding {
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

export const trueFinding = (reason: string, message = ""): ConditionFinding => ({ status: "True", reason, message });
export const falseFinding = (reason: string, message: string): ConditionFinding => ({
  status: "False",
  reason,
  message,
});
