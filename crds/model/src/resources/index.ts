/** The tables of kinds: the one list of the custom resources. CRDs, translation and reference pages derive from it. */

import { type ConsumerSpec, consumerKind } from "./consumers/consumer.ts";
import { type ConsumerGroupSpec, consumerGroupKind } from "./consumers/consumer-group.ts";
import { gatewayParametersKind } from "./gateway-parameters.ts";
import { type GraphQLDocumentsSpec, graphqlDocumentsKind } from "./graphql-documents.ts";
import type { KindFacts, ParameterKindFacts } from "./kind.ts";
import { type PluginSpec, pluginKind } from "./plugin.ts";
import { type RouteSpec, routeKind } from "./route.ts";
import { type ServiceSpec, serviceKind } from "./service.ts";
import { type CACertificateSpec, caCertificateKind } from "./tls/ca-certificate.ts";
import { type CertificateSpec, certificateKind } from "./tls/certificate.ts";
import { type UpstreamSpec, upstreamKind } from "./upstream.ts";
import { type VaultSpec, vaultKind } from "./vault.ts";

export interface Specs {
  readonly Certificate: CertificateSpec;
  readonly CACertificate: CACertificateSpec;
  readonly Upstream: UpstreamSpec;
  readonly Service: ServiceSpec;
  readonly Route: RouteSpec;
  readonly ConsumerGroup: ConsumerGroupSpec;
  readonly Vault: VaultSpec;
  readonly GraphQLDocuments: GraphQLDocumentsSpec;
  readonly Plugin: PluginSpec;
  readonly Consumer: ConsumerSpec;
}

export type ResourceKind = keyof Specs;

/** In an order in which each kind follows the kinds that it refers to. */
export const kindFacts: Readonly<Record<ResourceKind, KindFacts>> = {
  Certificate: certificateKind,
  CACertificate: caCertificateKind,
  Upstream: upstreamKind,
  Service: serviceKind,
  Route: routeKind,
  ConsumerGroup: consumerGroupKind,
  Consumer: consumerKind,
  Vault: vaultKind,
  GraphQLDocuments: graphqlDocumentsKind,
  Plugin: pluginKind,
};

export const resourceKinds = Object.keys(kindFacts) as readonly ResourceKind[];

export type ParameterKind = "GatewayParameters";

/** The custom resources that represent no entity. */
export const parameterKinds: Readonly<Record<ParameterKind, ParameterKindFacts>> = {
  GatewayParameters: gatewayParametersKind,
};
