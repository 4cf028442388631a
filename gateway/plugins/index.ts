/** The plugins that come with Sluice. */
import type { PluginDefinition } from "@sluice/plugin-sdk";
import { botDetection } from "./bot-detection/index.ts";
import { correlationId } from "./correlation-id/index.ts";
import { cors } from "./cors/index.ts";
import { ipRestriction } from "./ip-restriction/index.ts";
import { keyAuth } from "./key-auth/index.ts";
import { prometheus } from "./prometheus/index.ts";
import { rateLimiting } from "./rate-limiting/index.ts";
import { requestTermination } from "./request-termination/index.ts";
import { requestTransformer } from "./request-transformer/index.ts";

export const builtInPlugins: readonly PluginDefinition[] = [
  botDetection,
  correlationId,
  cors,
  ipRestriction,
  keyAuth,
  prometheus,
  rateLimiting,
  requestTermination,
  requestTransformer,
];
