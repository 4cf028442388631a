import type { DirectResponse } from "./exchange.ts";

/**
 * The response when a plugin cannot do its work: 500 with Kong's message.
 *
 * @param reason For the node's log, never sent to the client: what failed, beginning with the plugin's name.
 */
export const unexpectedError = (reason: string): DirectResponse => ({
  status: 500,
  message: "An unexpected error occurred",
  reason,
});
