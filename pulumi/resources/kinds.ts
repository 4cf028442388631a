/** Components that consist of one custom resource only: those of all kinds except Consumer. */
import type { ComponentResourceOptions } from "@pulumi/pulumi";
import type {
  CACertificateSpec,
  CertificateSpec,
  ConsumerGroupSpec,
  GatewayParametersSpec,
  GraphQLDocumentsSpec,
  PluginConfigs,
  PluginFacts,
  PluginName,
  PluginSpec,
  RouteSpec,
  ServiceSpec,
  Static,
  UpstreamSpec,
  VaultSpec,
} from "@sluice/model";
import type { DeepOptional, InputsOf, MembersOf } from "./inputs.ts";
import { type ComponentReference, type MetadataArguments, referencedName, SluiceResource } from "./resource.ts";

/** Members of the spec, in addition to `metadata`. One of `url`, `host` and `backendRef` sets the upstream. */
export type ServiceArgs = MetadataArguments & MembersOf<ServiceSpec>;

/** An upstream: the custom resource Service of group `sluice.dev`, not the core Service. */
export class Service extends SluiceResource<"Service"> {
  constructor(name: string, { metadata, ...spec }: ServiceArgs, options?: ComponentResourceOptions) {
    super("Service", { name, metadata, spec: () => spec, options });
  }
}

/** Members of the spec, in addition to `metadata`; `service` stands for `serviceRef`. */
export type RouteArgs = MetadataArguments &
  MembersOf<Omit<RouteSpec, "serviceRef">> & {
    /** The Service that receives matching requests. */
    readonly service?: ComponentReference<"Service">;
  };

/** Matches requests and sends them to a Service. */
export class Route extends SluiceResource<"Route"> {
  constructor(name: string, { metadata, service, ...members }: RouteArgs, options?: ComponentResourceOptions) {
    const serviceRef = service === undefined ? undefined : { name: referencedName(service) };
    super("Route", { name, metadata, spec: () => ({ ...members, serviceRef }), options });
  }
}

/** Members of the spec, in addition to `metadata`. A Service uses the Upstream by naming it as host. */
export type UpstreamArgs = MetadataArguments & MembersOf<UpstreamSpec>;

/** Load-balanced targets. */
export class Upstream extends SluiceResource<"Upstream"> {
  constructor(name: string, { metadata, ...spec }: UpstreamArgs, options?: ComponentResourceOptions) {
    super("Upstream", { name, metadata, spec: () => spec, options });
  }
}

/** Members of the spec, in addition to `metadata`. */
export type CertificateArgs = MetadataArguments & MembersOf<CertificateSpec>;

/** A certificate from a TLS Secret, and the server names for which it is presented. */
export class Certificate extends SluiceResource<"Certificate"> {
  constructor(name: string, { metadata, ...spec }: CertificateArgs, options?: ComponentResourceOptions) {
    super("Certificate", { name, metadata, spec: () => spec, options });
  }
}

/** Members of the spec, in addition to `metadata`. */
export type CACertificateArgs = MetadataArguments & MembersOf<CACertificateSpec>;

/** The certificate of an authority that signs the certificates of upstreams or clients. */
export class CACertificate extends SluiceResource<"CACertificate"> {
  constructor(name: string, { metadata, ...spec }: CACertificateArgs, options?: ComponentResourceOptions) {
    super("CACertificate", { name, metadata, spec: () => spec, options });
  }
}

/** Members of the spec, in addition to `metadata`. A Consumer joins the group by naming it in `consumerGroups`. */
export type ConsumerGroupArgs = MetadataArguments & MembersOf<ConsumerGroupSpec>;

/** A group of consumers to which plugins can be attached. */
export class ConsumerGroup extends SluiceResource<"ConsumerGroup"> {
  constructor(name: string, { metadata, ...spec }: ConsumerGroupArgs, options?: ComponentResourceOptions) {
    super("ConsumerGroup", { name, metadata, spec: () => spec, options });
  }
}

/** Members of the spec, in addition to `metadata`, whose namespace must be Sluice's home namespace. */
export type VaultArgs = MetadataArguments & MembersOf<VaultSpec>;

/** A prefix by which configs of plugins refer to environment variables of the nodes. */
export class Vault extends SluiceResource<"Vault"> {
  constructor(name: string, { metadata, ...spec }: VaultArgs, options?: ComponentResourceOptions) {
    super("Vault", { name, metadata, spec: () => spec, options });
  }
}

/** Members of the spec, in addition to `metadata`. */
export type GraphQLDocumentsArgs = MetadataArguments & MembersOf<GraphQLDocumentsSpec>;

/** The documents of a client of a GraphQL service, to which the plugin graphql can limit requests. */
export class GraphQLDocuments extends SluiceResource<"GraphQLDocuments"> {
  constructor(name: string, { metadata, ...spec }: GraphQLDocumentsArgs, options?: ComponentResourceOptions) {
    super("GraphQLDocuments", { name, metadata, spec: () => spec, options });
  }
}

/** Members of the spec, in addition to `metadata`. */
export type GatewayParametersArgs = MetadataArguments & MembersOf<GatewayParametersSpec>;

/** How Gateways of the Gateway API are deployed; a Gateway or GatewayClass names it in its `parametersRef`. */
export class GatewayParameters extends SluiceResource<"GatewayParameters"> {
  constructor(name: string, { metadata, ...spec }: GatewayParametersArgs, options?: ComponentResourceOptions) {
    super("GatewayParameters", { name, metadata, spec: () => spec, options });
  }
}

/**
 * The plugin's targets: it acts on requests that match all of them. Without targets it acts on all requests, which only
 * Plugins in Sluice's home namespace may do.
 */
export interface Targets {
  readonly service?: ComponentReference<"Service">;
  readonly route?: ComponentReference<"Route">;
  readonly consumer?: ComponentReference<"Consumer">;
  readonly consumerGroup?: ComponentReference<"ConsumerGroup">;
}

/**
 * The name of a plugin that comes with Sluice, or the facts of a custom plugin, from `definePluginFacts` of the SDK.
 */
export type PluginChoice = PluginName | PluginFacts;

type ConfigOf<Chosen extends PluginChoice> = Chosen extends PluginName
  ? PluginConfigs[Chosen]
  : Chosen extends PluginFacts<infer Schema>
    ? Static<Schema>
    : never;

/**
 * Members of the spec, in addition to `metadata`; `service`, `route`, `consumer` and `consumerGroup` stand for
 * `targetRefs`.
 */
export type PluginArgs<Chosen extends PluginChoice> = MetadataArguments &
  Targets &
  MembersOf<Omit<PluginSpec, "plugin" | "config" | "targetRefs">> & {
    readonly plugin: Chosen;
    /** The config: members of the plugin's schema (with Kong's names for Kong's plugins). Unset: their defaults. */
    readonly config?: InputsOf<DeepOptional<ConfigOf<Chosen>>>;
  };

/** A plugin with its config and its targets. The chosen plugin determines the type of the config. */
export class Plugin<Chosen extends PluginChoice> extends SluiceResource<"Plugin"> {
  constructor(name: string, args: PluginArgs<Chosen>, options?: ComponentResourceOptions) {
    const { metadata, plugin: chosen, service, route, consumer, consumerGroup, ...members } = args;
    const plugin = typeof chosen === "string" ? chosen : chosen.name;
    super("Plugin", {
      name,
      metadata,
      spec: () => ({ plugin, ...members, targetRefs: targetRefs({ service, route, consumer, consumerGroup }) }),
      options,
    });
  }
}

function targetRefs({ service, route, consumer, consumerGroup }: Targets) {
  const targets = [
    ...(service === undefined ? [] : [{ kind: "Service", name: referencedName(service) }]),
    ...(route === undefined ? [] : [{ kind: "Route", name: referencedName(route) }]),
    ...(consumer === undefined ? [] : [{ kind: "Consumer", name: referencedName(consumer) }]),
    ...(consumerGroup === undefined ? [] : [{ kind: "ConsumerGroup", name: referencedName(consumerGroup) }]),
  ];
  return targets.length === 0 ? undefined : targets;
}
