import type { DirectResponse } from "./exchange.ts";

/**
 * The response when a plugin cannot do its work: 500 with Kong's message.
 *
 * @param reason What failed, beginning with the plugin's name. It is logged, and never sent to the client.
 */
export const unexpectedError = (reason: string): DirectResponse => ({
  status: 500,
  message: "An unexpected error occurred",
  reason,
});
