/** The handlers of all plugins of the model. */
import { cors } from "./cors/handler.ts";
import { keyAuth } from "./key-auth/handler.ts";
import type { PluginHandlers } from "./plugin.ts";
import { prometheus } from "./prometheus/handler.ts";
import { rateLimiting } from "./rate-limiting/handler.ts";

export const handlers: PluginHandlers = {
  cors,
  "key-auth": keyAuth,
  "rate-limiting": rateLimiting,
  prometheus,
};

export type * from "./plugin.ts";
