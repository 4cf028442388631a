/** Component resources for the custom resources of group `sluice.dev`. */
export { Consumer, type ConsumerArgs, type Key } from "./consumer.ts";
export type { InputsOf, MembersOf } from "./inputs.ts";
export {
  CACertificate,
  type CACertificateArgs,
  Certificate,
  type CertificateArgs,
  ConsumerGroup,
  type ConsumerGroupArgs,
  Plugin,
  type PluginArgs,
  Route,
  type RouteArgs,
  Service,
  type ServiceArgs,
  type Targets,
  Upstream,
  type UpstreamArgs,
} from "./kinds.ts";
export { type ComponentReference, type Placed, type ResourceMetadata, SluiceResource } from "./resource.ts";
