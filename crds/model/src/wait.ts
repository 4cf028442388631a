/**
 * What the admin listener asks the operator after a write: POST /wait on the operator's listener.
 *
 * Deletions and Secrets have no status to look at, so the answer comes from the operator itself: it has seen the
 * resources as they were written, and every node that answers runs a document made from them.
 */

/** A resource as its writer left it: at this generation (or version, where there is no generation), or gone. */
export interface Written {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
  readonly generation?: number;
  readonly resourceVersion?: string;
  readonly deleted?: boolean;
}

export interface WaitRequest {
  /** 1 to 100. */
  readonly resources: readonly Written[];
  /** Milliseconds, 0 to 30,000. Default 5000. */
  readonly timeout?: number;
}

export interface WaitAnswer {
  /** Every node that answers serves the resources as written. */
  readonly programmed: boolean;
  readonly revision: number;
  /** Addresses of nodes: those that have it, those that do not yet, and those that have not answered for 2 s. */
  readonly acknowledged: readonly string[];
  readonly lagging: readonly string[];
  readonly silent: readonly string[];
  /** Why resources are kept out of the document, in the words of their conditions. */
  readonly problems: readonly {
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
    readonly reason: string;
    readonly message: string;
  }[];
}
