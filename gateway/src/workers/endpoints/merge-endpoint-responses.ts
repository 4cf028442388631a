/** Combines the responses of several workers, or of several nodes, to one request to an endpoint of a plugin. */
import type { EndpointResponse } from "@sluice/plugin-sdk";

/** Maximum bytes of a body as JSON. */
const MAX_BODY = 8 * 1024 * 1024;

/**
 * The response with the highest status of at least 500, else the one with the lowest status; null: no responses.
 * The result is shared (`isShared`) only if all responses are.
 */
export function mergeEndpointResponses(responses: readonly EndpointResponse[]): EndpointResponse | null {
  const sorted = responses.toSorted((one, other) => one.status - other.status);
  const merged = sorted.findLast(({ status }) => status >= 500) ?? sorted[0];
  return merged ? { ...merged, isShared: responses.every(({ isShared }) => isShared === true) } : null;
}

/** The response; or one with status 500 if a plugin's response cannot be sent to the admin API. */
export function checkedEndpointResponse(response: EndpointResponse | null): EndpointResponse | null {
  const reason = response && endpointResponseFault(response);
  return reason === null ? response : { status: 500, body: { message: `the plugin's response ${reason}` } };
}

function endpointResponseFault({ status, body }: EndpointResponse): string | null {
  if (!Number.isInteger(status) || status < 200 || status > 599)
    return `has the status ${status}, not one of 200 to 599`;
  try {
    return Buffer.byteLength(JSON.stringify(body) ?? "") > MAX_BODY ? `has more than ${MAX_BODY} bytes` : null;
  } catch (error) {
    return `cannot be written as JSON: ${(error as Error).message}`;
  }
}
