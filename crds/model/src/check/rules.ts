/** The table of rules by the names that schemas use (`rule`, `keyRule`). */
import { consumer, credential, endpoint, plugin, pluginName, service } from "./rules/entities.ts";
import { host, ipOrCidr, routeHost, sni } from "./rules/hosts.ts";
import { origin, path, routePath } from "./rules/paths.ts";
import { rateLimiting } from "./rules/rate-limiting.ts";
import { route } from "./rules/route.ts";
import type { RecordRule, TextRule } from "./rules/rule.ts";
import { headerName, method, name, routeHeader, sha256, tag, uuid } from "./rules/words.ts";

/** For members that are texts, and for the names in a mapping. */
export const textRules: Readonly<Record<string, TextRule>> = {
  "header-name": headerName,
  host,
  "ip-or-cidr": ipOrCidr,
  "key-name": headerName,
  method,
  name,
  origin,
  path,
  "plugin-name": pluginName,
  "route-header": routeHeader,
  "route-host": routeHost,
  "route-path": routePath,
  sha256,
  sni,
  tag,
  uuid,
};

/** For records as a whole. */
export const recordRules: Readonly<Record<string, RecordRule>> = {
  consumer,
  credential,
  endpoint,
  plugin,
  "rate-limiting": rateLimiting,
  route,
  service,
};
