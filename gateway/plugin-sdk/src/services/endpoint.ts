/** Endpoints of a plugin instance in the admin API, below `/plugins/{id}/`. */

export interface EndpointRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The segments after the plugin's id, decoded. */
  readonly path: readonly string[];
  /** The decoded parameters of the query; one that occurs several times has a list of its values. */
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  /** The parsed JSON body, of at most 64 KiB. Absent: the request has none. */
  readonly body?: unknown;
}

/** Plain data, because nodes send it to the admin API. */
export interface EndpointResponse {
  readonly status: number;
  /** Sent as JSON, of at most 8 MiB. Absent: no body. */
  readonly body?: unknown;
  /**
   * Whether the response concerns state outside the nodes, such as in Redis, so that the response of one node is
   * enough. Default: false.
   */
  readonly isShared?: boolean;
}
