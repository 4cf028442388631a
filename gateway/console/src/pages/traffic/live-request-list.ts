/** The newest requests of a watch. */

/** An entry of `GET /access-log`: members without a value are absent. */
export interface LiveRequest {
  readonly node: string;
  /** ISO 8601. */
  readonly time: string;
  readonly request_id: string;
  readonly status: number;
  /** Absent, like host and path: the head of the request could not be read. */
  readonly method?: string;
  readonly host?: string;
  readonly path?: string;
  readonly client?: string;
  /** The TLS version of the client's connection. */
  readonly tls?: string;
  readonly route?: string;
  readonly consumer?: string;
  readonly plugin?: string;
  readonly target?: string;
  readonly latencies: { readonly request: number };
}

export interface LiveRequestList {
  /** Newest first. */
  readonly requests: readonly LiveRequest[];
  /** The number of requests that the nodes did not record, because there were too many. */
  readonly missed: number;
}

export const MAX_LISTED = 200;

export const noLiveRequests: LiveRequestList = { requests: [], missed: 0 };

/** @param added Oldest first, as in the response. */
export const withNewRequests = (
  { requests, missed }: LiveRequestList,
  added: { readonly data: readonly LiveRequest[]; readonly missed: number },
): LiveRequestList => ({
  requests: [...added.data.toReversed(), ...requests].slice(0, MAX_LISTED),
  missed: missed + added.missed,
});
