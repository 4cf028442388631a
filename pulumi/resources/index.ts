/** Component resources for the custom resources of group `sluice.dev`. */
export { Certificate, type CertificateArgs } from "./certificate.ts";
export { Consumer, type ConsumerArgs, type Key } from "./consumer.ts";
export type { InputsOf, MembersOf } from "./inputs.ts";
export { Plugin, type PluginArgs, type Targets } from "./plugin.ts";
export { type ComponentReference, type Placed, type ResourceMetadata, SluiceResource } from "./resource.ts";
export { Route, type RouteArgs } from "./route.ts";
export { Service, type ServiceArgs } from "./service.ts";
export { Upstream, type UpstreamArgs } from "./upstream.ts";
