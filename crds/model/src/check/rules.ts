/** The table of rules by the names that schemas use (`rule`, `keyRule`). */
import { certificateChain, certificateRule, privateKey, sniRule } from "./rules/certificates.ts";
import { consumerRule, credentialRule, endpointRule, pluginName, pluginRule, serviceRule } from "./rules/entities.ts";
import {
  host,
  hostPort,
  ipOrCidr,
  routeHost,
  sniName,
  targetAddress,
  upstreamName,
  wildcardSni,
} from "./rules/hosts.ts";
import { headerName, methodRule, nameRule, routeHeader, sha256, tag, uuid } from "./rules/names.ts";
import { origin, path, routePath } from "./rules/paths.ts";
import { rateLimitingRule } from "./rules/rate-limiting.ts";
import { routeRule } from "./rules/route.ts";
import type { RecordRule, TextRule } from "./rules/rule.ts";
import { upstreamHeaderName, upstreamHeaderValue } from "./rules/upstream-headers.ts";
import { targetRule, upstreamRule } from "./rules/upstreams.ts";

/** For string members, and for the names in a mapping. */
export const textRules: Readonly<Record<string, TextRule>> = {
  "certificate-chain": certificateChain,
  "header-name": headerName,
  "header-value": upstreamHeaderValue,
  host,
  "host-port": hostPort,
  "ip-or-cidr": ipOrCidr,
  "key-name": headerName,
  method: methodRule,
  name: nameRule,
  origin,
  path,
  "plugin-name": pluginName,
  "private-key": privateKey,
  "route-header": routeHeader,
  "route-host": routeHost,
  "route-path": routePath,
  sha256,
  sni: sniName,
  tag,
  target: targetAddress,
  "upstream-header": upstreamHeaderName,
  "upstream-name": upstreamName,
  uuid,
  "wildcard-sni": wildcardSni,
};

/** For records as a whole. */
export const recordRules: Readonly<Record<string, RecordRule>> = {
  certificate: certificateRule,
  consumer: consumerRule,
  credential: credentialRule,
  endpoint: endpointRule,
  plugin: pluginRule,
  "rate-limiting": rateLimitingRule,
  route: routeRule,
  service: serviceRule,
  sni: sniRule,
  target: targetRule,
  upstream: upstreamRule,
};
