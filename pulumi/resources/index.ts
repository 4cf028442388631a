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
  GatewayParameters,
  type GatewayParametersArgs,
  GraphQLDocuments,
  type GraphQLDocumentsArgs,
  Plugin,
  type PluginArgs,
  type PluginChoice,
  Route,
  type RouteArgs,
  Service,
  type ServiceArgs,
  type Targets,
  Upstream,
  type UpstreamArgs,
  Vault,
  type VaultArgs,
} from "./kinds.ts";
export {
  type ComponentReference,
  type MetadataArguments as Placed,
  type ResourceMetadata,
  SluiceResource,
} from "./resource.ts";
