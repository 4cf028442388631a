/**
 * The node's endpoint for its log level. The control thread answers, and not a worker, because the level applies to all
 * threads of the node.
 */
import {
  LOG_LEVEL_PATH,
  type LogLevelReport,
  MAX_LOG_LEVEL_SECONDS,
  NODE,
  readLogLevelChange,
  type TemporaryLogLevel,
} from "@sluice/model/serving";
import type { EndpointRequest, EndpointResponse } from "@sluice/plugin-sdk";

export const asksForLogLevel = (plugin: string, { path }: EndpointRequest): boolean =>
  plugin === NODE && path.join("/") === LOG_LEVEL_PATH;

/** Changes the level if the request has a body, and returns the level. */
export function logLevelResponse({ body }: EndpointRequest, logLevel: TemporaryLogLevel): EndpointResponse {
  if (body !== undefined) {
    const change = readLogLevelChange(body);
    if (change === null) {
      const message = `the body must have a level, and seconds from 0 to ${MAX_LOG_LEVEL_SECONDS}`;
      return { status: 400, body: { message } };
    }
    logLevel.change(change);
  }
  return { status: 200, body: { level: logLevel.level } satisfies LogLevelReport };
}
