/** The table of kinds: the one place that lists the custom resources. CRDs, translation and pages derive from it. */
import { type CertificateSpec, certificateKind, type SniEntry, TLS_SECRET_TYPE, tlsEntries } from "./certificate.ts";
import { type ConsumerSpec, consumerKind, type KeyAuthEntry } from "./consumer.ts";
import type { KindFacts } from "./kind.ts";
import {
  type ConfigFrom,
  type PluginSpec,
  pluginKind,
  type TargetKind,
  type TargetRef,
  targetMembers,
} from "./plugin.ts";
import { type RouteSpec, routeKind } from "./route.ts";
import { type ServiceSpec, serviceKind, type UpstreamHeaderEntry } from "./service.ts";
import { type TargetEntry, type UpstreamSpec, upstreamKind } from "./upstream.ts";

/** Specs by kind. */
export interface Specs {
  readonly Certificate: CertificateSpec;
  readonly Upstream: UpstreamSpec;
  readonly Service: ServiceSpec;
  readonly Route: RouteSpec;
  readonly Plugin: PluginSpec;
  readonly Consumer: ConsumerSpec;
}

export type ResourceKind = keyof Specs;

/** Each kind comes after those that it refers to. */
export const kinds: Readonly<Record<ResourceKind, KindFacts>> = {
  Certificate: certificateKind,
  Upstream: upstreamKind,
  Service: serviceKind,
  Route: routeKind,
  Consumer: consumerKind,
  Plugin: pluginKind,
};

export const resourceKinds = Object.keys(kinds) as readonly ResourceKind[];

export { apiVersion, category, crdVersion, group, type KindFacts, type SpecNode } from "./kind.ts";
export {
  type BackendRef,
  CLASS_LABEL,
  CREDENTIAL_LABEL,
  DEFAULT_CLASS,
  type NameRef,
  type SecretRef,
} from "./shared.ts";
export { camelPath, readSpec, type SpecMembers, withoutDefaults, writeSpec } from "./spelling.ts";
export {
  type CertificateSpec,
  type ConfigFrom,
  type ConsumerSpec,
  type KeyAuthEntry,
  type PluginSpec,
  type RouteSpec,
  type ServiceSpec,
  type SniEntry,
  type TargetEntry,
  type TargetKind,
  type TargetRef,
  TLS_SECRET_TYPE,
  targetMembers,
  tlsEntries,
  type UpstreamHeaderEntry,
  type UpstreamSpec,
};
