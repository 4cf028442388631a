/** The facts and schemas of the plugins that come with Sluice. Their code is not loaded. */
import type { Static } from "@sluice/plugin-sdk";
import { botDetectionFacts } from "./bot-detection/schema.ts";
import { correlationIdFacts } from "./correlation-id/schema.ts";
import { corsFacts } from "./cors/schema.ts";
import { ipRestrictionFacts } from "./ip-restriction/schema.ts";
import { keyAuthFacts } from "./key-auth/schema.ts";
import { prometheusFacts } from "./prometheus/schema.ts";
import { rateLimitingFacts } from "./rate-limiting/schema.ts";
import { requestTerminationFacts } from "./request-termination/schema.ts";
import { requestTransformerFacts } from "./request-transformer/schema.ts";

export const builtInFacts = [
  botDetectionFacts,
  correlationIdFacts,
  corsFacts,
  ipRestrictionFacts,
  keyAuthFacts,
  prometheusFacts,
  rateLimitingFacts,
  requestTerminationFacts,
  requestTransformerFacts,
] as const;

export type PluginName = (typeof builtInFacts)[number]["name"];
/** Configs with defaults by plugin name. */
export type PluginConfigs = {
  readonly [Facts in (typeof builtInFacts)[number] as Facts["name"]]: Static<Facts["schema"]>;
};
