/** Endpoints of a plugin instance in the admin API, below `/plugins/{id}/`. */

export interface EndpointRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The segments after the plugin's id, decoded. */
  readonly path: readonly string[];
}

/** Plain data, because workers send it to the admin API. */
export interface EndpointResponse {
  readonly status: number;
  /** Sent as JSON. Absent: no body. */
  readonly body?: unknown;
  /**
   * Whether the response concerns state outside the nodes, such as in Redis, so that asking one worker is enough.
   * Default: false.
   */
  readonly isShared?: boolean;
}
