/**
 * The model: the declaration of all entities and everything derived from it. Of the project's other packages, it
 * imports only the plugin SDK and the schemas of plugins.
 */

export {
  type Checked,
  compileRegex,
  isToken,
  LruCache,
  type PluginFacts,
  type PrefixMatch,
  type Regex,
  type SchemaNode,
  type Static,
  type Violation,
} from "@sluice/plugin-sdk";
export type { PluginConfigs, PluginName } from "@sluice/plugins/schemas";
export * from "./certificate-details.ts";
export { configSizeMessage } from "./check/config-size.ts";
export { schemaNodeAt, withDeprecated } from "./check/deprecated.ts";
export { type SchemaViolation, schemaViolation, type ViolationFields } from "./check/error.ts";
export { checkWithHidden } from "./check/hidden-members.ts";
export { type CheckedEntity, type CheckOptions, checkConfig, checkCredentialKey, checkEntity } from "./check/index.ts";
export { MAX_TRUSTED_CERTIFICATES } from "./check/listener.ts";
export { expiredMessage } from "./check/rules/certificates.ts";
export { hostWithPort } from "./check/rules/hosts.ts";
export * from "./document/describe.ts";
export type { FlatDocument } from "./document/flatten/flatten.ts";
export { writtenLists } from "./document/flatten/nested-lists.ts";
export {
  type ChangedItems,
  checkDocument,
  type LoadedDocument,
  type LoadedItems,
  type LoadedText,
  type LoadOptions,
  loadItems,
  loadText,
} from "./document/load.ts";
export * from "./document/minimal-entity.ts";
export { syntaxFaults } from "./document/parse/syntax-errors.ts";
export { readYaml } from "./document/parse/yaml.ts";
export * from "./document/render.ts";
export { escapeRegex, literalPrefix } from "./document/servable-part/closed-route.ts";
export * from "./document/servable-part/servable-part.ts";
export * from "./document/text/items.ts";
export * from "./document/text/layout.ts";
export * from "./document/text/render-item.ts";
export * from "./document.ts";
export { documentPassword, isConsumerBound, isPasswordHash, kongPassword } from "./entities/credentials/basic-auth.ts";
export { hasExpired } from "./entities/credentials/key-auth.ts";
export * from "./entities/index.ts";
export { listFirstNames } from "./first-names.ts";
export { coerceFormValue, decodeForm, type FormParts } from "./form/index.ts";
export { crdNames, crds, entityCrdNames } from "./generate/crd.ts";
export { crdFiles } from "./generate/files.ts";
export { canonicalJson, derivedIdOf, deriveId, deriveNamelessId, uuidV5 } from "./ids.ts";
export * from "./log/temporary-log-level.ts";
export * from "./log/text-log.ts";
export { normalizePath } from "./matching/path.ts";
export { mergeEntity } from "./merge/index.ts";
export { toCamel, toSnake } from "./names.ts";
export * from "./pem-files.ts";
export { factsFaults } from "./plugins/external/check-facts.ts";
export * from "./plugins/external/index.ts";
export * from "./plugins/graphql-documents.ts";
export * from "./plugins/index.ts";
export { insteadOfPlugin, kongPlugins } from "./plugins/kong-plugins.ts";
export * from "./plugins/plugin-protocols.ts";
export * from "./plugins/vault-references.ts";
export type * from "./protocols/acme-status.ts";
export * from "./protocols/connection-url.ts";
export * from "./protocols/explain.ts";
export * from "./protocols/fleet-counters.ts";
export * from "./protocols/fleet-view.ts";
export * from "./protocols/node-endpoints.ts";
export * from "./protocols/plugin-endpoint.ts";
export type * from "./protocols/push.ts";
export type * from "./protocols/wait.ts";
export {
  CLASS_LABEL,
  type ConfigFrom,
  CREDENTIAL_LABEL,
  DEFAULT_CLASS,
  gatewayController,
  ingressController,
  type NameRef,
  type SecretRef,
} from "./resources/common-spec.ts";
export type * from "./resources/consumers/consumer.ts";
export type { ConsumerGroupSpec } from "./resources/consumers/consumer-group.ts";
export {
  dedicatedMembers,
  type FleetAutoscaling,
  type FleetDeployment,
  type FleetDisruptionBudget,
  type GatewayNodes,
  type GatewayParametersSpec,
  type GatewayServiceParameters,
} from "./resources/gateway-parameters.ts";
export type { GraphQLDocumentsSpec } from "./resources/graphql-documents.ts";
export * from "./resources/index.ts";
export {
  apiGroup,
  apiVersion,
  crdVersion,
  type KindFacts,
  kubectlCategory,
  type ParameterKindFacts,
  pluralOf,
  type SpecNode,
} from "./resources/kind.ts";
export * from "./resources/plugin.ts";
export type * from "./resources/route.ts";
export type * from "./resources/service.ts";
export * from "./resources/spelling.ts";
export type { CACertificateSpec } from "./resources/tls/ca-certificate.ts";
export * from "./resources/tls/certificate.ts";
export type * from "./resources/upstream.ts";
export type { VaultSpec } from "./resources/vault.ts";
export { withoutDefaults } from "./schema/without-defaults.ts";
export * from "./settings/index.ts";
export { adoptChange, adoptEdit } from "./snapshot/adopt.ts";
export { applyChange, applyDocument } from "./snapshot/apply.ts";
export * from "./snapshot/bucket-map.ts";
export * from "./snapshot/change.ts";
export { checkChange, checkFlatDocument } from "./snapshot/check-outline.ts";
export { differingBuckets, type HashTree } from "./snapshot/hash-tree.ts";
export { emptySnapshot, hashTreeOf } from "./snapshot/make-snapshot.ts";
export { referencedId, toStoredEntity } from "./snapshot/stored-entity.ts";
export type * from "./snapshot.ts";
export { closestName, suggestionFor } from "./suggest.ts";
