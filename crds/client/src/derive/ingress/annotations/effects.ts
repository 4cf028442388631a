/** The effects of annotations on the resources that are derived from an Ingress. */
import type { ServiceExtras, UpstreamExtras } from "@sluice/model";

/** A plugin for all routes of the Ingress. */
export interface PluginEffect {
  readonly plugin: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** The config for a path that is equal to the target of the rewrite, and therefore not rewritten; null: no plugin. */
  readonly unwritten?: { readonly path: string; readonly config: PluginEffect["config"] | null };
  /** Services without which the plugin is not served: see DerivedResource. */
  readonly requiredServices?: readonly string[];
  /** A secret member of the config. */
  readonly secret?: { readonly member: string; readonly value: string };
  /** The annotation at which a problem of the config is reported. */
  readonly annotation: string;
}

/** A client certificate for the upstream, and its key, in PEM. */
export interface UpstreamCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** The server that receives copies of requests. */
export interface MirrorEffect {
  readonly protocol: "http" | "https";
  readonly host: string;
  readonly port: number;
  readonly hostHeader: string;
}

export interface IngressEffects {
  /** Members of the spec of each Service. */
  readonly service: Readonly<Record<string, unknown>>;
  readonly serviceExtras: ServiceExtras;
  /** Null: the upstream gets no client certificate. */
  readonly upstreamCertificate: UpstreamCertificate | null;
  /** Whether requests are sent to the cluster address of the core Service instead of its endpoints. */
  readonly toClusterAddress: boolean;
  /** Members of the spec of an Upstream; null: the endpoints are used in turn. */
  readonly upstream: Readonly<Record<string, unknown>> | null;
  readonly upstreamExtras: UpstreamExtras;
  /** Whether the upstream speaks gRPC. */
  readonly grpc: boolean;
  /** Whether plain http requests are redirected to https; null: only for hosts with TLS. */
  readonly redirectsToHttps: boolean | null;
  /** Other host names for all rules. */
  readonly aliases: readonly string[];
  readonly plugins: readonly PluginEffect[];
  /** Null: requests are not copied. */
  readonly mirror: MirrorEffect | null;
  /** The path to which requests for the root of a host are redirected. */
  readonly appRoot: string | null;
  /** Whether requests for the host with or without `www.` are redirected to the host of the rule. */
  readonly redirectsWww: boolean;
  /** All requests are answered with a redirect: no backend is used, and no plugin except those for CORS and body sizes. */
  readonly redirect: PluginEffect | null;
}
