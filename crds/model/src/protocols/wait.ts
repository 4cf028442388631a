/**
 * The admin listener's request to the operator after a write: POST /wait on the operator's listener.
 *
 * Deletions and Secrets have no status to poll. The operator therefore responds once it has seen the resources as
 * written and every responding node runs a document built from them, or when the timeout has elapsed.
 */

/** A resource after a write: at this generation (or resource version, if it has no generation), or deleted. */
export interface WrittenResource {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
  readonly generation?: number;
  readonly resourceVersion?: string;
  readonly deleted?: boolean;
}

export interface WaitRequest {
  /** 1 to 5000. */
  readonly resources: readonly WrittenResource[];
  /** Milliseconds, 0 to 30,000. Default 5000. */
  readonly timeout?: number;
}

export interface WaitResponse {
  /** Whether every responding node serves the resources as written, and no resource is left out of the document. */
  readonly programmed: boolean;
  readonly revision: number;
  /** Addresses of the nodes that have acknowledged the document. */
  readonly acknowledged: readonly string[];
  /** Addresses of the responding nodes that have not acknowledged the document yet. */
  readonly lagging: readonly string[];
  /** Addresses of the nodes that have not responded to the operator for 2 s. */
  readonly silent: readonly string[];
  /** Why resources are left out of the document, with the messages of their conditions. */
  readonly problems: readonly {
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
    readonly reason: string;
    readonly message: string;
  }[];
}
