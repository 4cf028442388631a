/** The table of rules by the names that schemas use (`rule`, `keyRule`). */
import { certificate, certificateChain, privateKey, sni as sniRecord } from "./rules/certificates.ts";
import { consumer, credential, endpoint, plugin, pluginName, service } from "./rules/entities.ts";
import { host, hostPort, ipOrCidr, routeHost, sni, target, upstreamName, wildcardSni } from "./rules/hosts.ts";
import { origin, path, routePath } from "./rules/paths.ts";
import { rateLimiting } from "./rules/rate-limiting.ts";
import { route } from "./rules/route.ts";
import type { RecordRule, TextRule } from "./rules/rule.ts";
import { headerValue, upstreamHeader } from "./rules/upstream-headers.ts";
import { target as targetRecord, upstream } from "./rules/upstreams.ts";
import { headerName, method, name, routeHeader, sha256, tag, uuid } from "./rules/words.ts";

/** For members that are texts, and for the names in a mapping. */
export const textRules: Readonly<Record<string, TextRule>> = {
  "certificate-chain": certificateChain,
  "header-name": headerName,
  "header-value": headerValue,
  host,
  "host-port": hostPort,
  "ip-or-cidr": ipOrCidr,
  "key-name": headerName,
  method,
  name,
  origin,
  path,
  "plugin-name": pluginName,
  "private-key": privateKey,
  "route-header": routeHeader,
  "route-host": routeHost,
  "route-path": routePath,
  sha256,
  sni,
  tag,
  target,
  "upstream-header": upstreamHeader,
  "upstream-name": upstreamName,
  uuid,
  "wildcard-sni": wildcardSni,
};

/** For records as a whole. */
export const recordRules: Readonly<Record<string, RecordRule>> = {
  certificate,
  consumer,
  credential,
  endpoint,
  plugin,
  "rate-limiting": rateLimiting,
  route,
  service,
  sni: sniRecord,
  target: targetRecord,
  upstream,
};
