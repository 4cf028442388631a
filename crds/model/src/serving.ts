/**
 * `@sluice/model/serving`: the part of the model needed for serving requests. Every worker loads a copy of this part. A
 * copy of the rest (validating, reading and writing, with Ajv and the YAML library) would need 10 MB more.
 */

export { compileRegex, LruCache } from "@sluice/plugin-sdk";
export * from "./certificate-details.ts";
export { describeViolation, describeWarnings, escapeControlCharacters } from "./document/describe.ts";
export { type DividedText, divideText } from "./document/text/items.ts";
export { ENDPOINT_WEIGHT_UNIT, endpointSections, perEndpointSection } from "./document.ts";
export { hasExpired } from "./entities/credentials/key-auth.ts";
export {
  collections,
  credentialCollections,
  entities,
  entityNameOf,
  isSecretLookup,
  lookupHash,
  servedProtocols,
  streamProtocols,
  vaultKinds,
} from "./entities/index.ts";
export { listFirstNames } from "./first-names.ts";
export type * from "./index.ts";
export * from "./log/temporary-log-level.ts";
export * from "./log/text-log.ts";
export { normalizePath } from "./matching/path.ts";
export * from "./pem-files.ts";
export {
  importPlugins,
  type LoadedPlugin,
  loadedSchemas,
  loadPlugins,
  type ReloadedPlugins,
  registerSchemas,
  reloadPlugins,
} from "./plugins/external/index.ts";
export * from "./plugins/graphql-documents.ts";
export { mayProtect, pluginNamed, pluginNames, pluginSetHash, refusedTargets } from "./plugins/index.ts";
export {
  parseVaultReference,
  replaceReferences,
  variableOf,
  vaultPrefixesOf,
  vaultReferencesIn,
} from "./plugins/vault-references.ts";
export { connectionUrlOf } from "./protocols/connection-url.ts";
export {
  FLEET_COUNTERS_PATH,
  type FleetCountersAnswer,
  isFleetCountersCall,
  type KeptCounter,
  MAX_KEPT_COUNTERS,
} from "./protocols/fleet-counters.ts";
export {
  isPeerIdentity,
  isPeerReport,
  isPushView,
  MAX_FLEET_NODES,
  type PeerReport,
  type PublishedView,
  REMOVE_PEER_AFTER,
  type ViewedNode,
} from "./protocols/fleet-view.ts";
export {
  isEndpointFound,
  isPluginEndpointCall,
  isPluginEndpointResult,
  LOG_LEVEL_PATH,
  NODE_ENDPOINT_ID,
  NODE_ENDPOINT_TIMEOUT,
  nodePaths,
} from "./protocols/plugin-endpoint.ts";
export * from "./settings/index.ts";
export { adoptChange, adoptEdit } from "./snapshot/adopt.ts";
export { BucketMap, bucketDifferences, hashOfId, hashOfText } from "./snapshot/bucket-map.ts";
export { changeBetween } from "./snapshot/change.ts";
export { emptySnapshot, hashTreeOf } from "./snapshot/make-snapshot.ts";
export { suggestionFor } from "./suggest.ts";
