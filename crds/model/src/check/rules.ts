/** Tables of rules by the names that schemas use (`rule`, `keyRule`). */

import type { RecordRule } from "@sluice/plugin-sdk";
import { manifestViolation } from "@sluice/plugins/schemas";
import { acmeChallengeRule, caCertificateRule, certificateRule, certificateTextRules } from "./rules/certificates.ts";
import { jwtSecretRule, publicKeyRule } from "./rules/credentials.ts";
import { consumerRule, endpointRule, pluginName, pluginRule, serviceRule } from "./rules/entities.ts";
import { hostRules } from "./rules/hosts.ts";
import { kubernetesRules } from "./rules/kubernetes.ts";
import { nameRules } from "./rules/names.ts";
import { pathRules } from "./rules/paths.ts";
import { listenerRouteRule, routeRule, valueMatchRule } from "./rules/route.ts";
import type { TextRule } from "./rules/rule.ts";
import { upstreamHeaderRules } from "./rules/upstream-headers.ts";
import { upstreamRule } from "./rules/upstreams.ts";
import { vaultRules } from "./rules/vaults.ts";

/** Rules for string members, and for the names in a mapping. */
export const textRules: Readonly<Record<string, TextRule>> = {
  ...certificateTextRules,
  ...hostRules,
  ...kubernetesRules,
  ...nameRules,
  ...pathRules,
  ...upstreamHeaderRules,
  ...vaultRules,
  "graphql-manifest": (value) => manifestViolation(value) ?? undefined,
  "public-key": publicKeyRule,
  "plugin-name": pluginName,
};

/** Rules for records as a whole. */
export const recordRules: Readonly<Record<string, RecordRule>> = {
  "acme-challenge": acmeChallengeRule,
  "ca-certificate": caCertificateRule,
  certificate: certificateRule,
  consumer: consumerRule,
  endpoint: endpointRule,
  "jwt-secret": jwtSecretRule,
  "listener-route": listenerRouteRule,
  plugin: pluginRule,
  route: routeRule,
  service: serviceRule,
  upstream: upstreamRule,
  "value-match": valueMatchRule,
};
