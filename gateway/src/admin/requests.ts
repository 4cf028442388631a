/** What an operation is asked, and what comes of it. */
import type { IncomingHttpHeaders } from "node:http";
import type { Violation } from "@sluice/model";
import type { Effect, Store, Write, WriteFault, WriteOutcome } from "../stores/store.ts";
import type { Endpoint } from "./entities/endpoints.ts";
import type { RawMembers } from "./http/decode-body.ts";
import type { Query } from "./http/paging.ts";
import type { Preconditions } from "./http/preconditions.ts";

/** A request as it came, without the HTTP engine. */
export interface AdminRequest {
  readonly method: string;
  /** Without the query and without a slash at its end. */
  readonly path: string;
  readonly query: Query;
  /** Decoded, by their names in the URL. */
  readonly params: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer | undefined;
  /** The caller has proved who it is where that is asked for, and uses a name of ours: not so only in GET / and GET /status. */
  readonly trusted: boolean;
}

/** What operations read: a store, or a store as it will be after the writes before. */
export type EntityReader = Pick<Store, "list" | "find" | "database">;

/** A request to an endpoint of a collection. */
export interface EntityRequest {
  readonly store: EntityReader;
  readonly endpoint: Endpoint;
  readonly params: { readonly entity?: string; readonly child?: string };
  readonly path: string;
  readonly query: Query;
  /** `plugin` is whose config a form changes when it does not say so. @throws HttpError when it cannot be decoded. */
  readonly body: (hint?: { readonly plugin?: string }) => RawMembers;
  readonly preconditions: Preconditions;
  /** Ids that are taken, as the store said when it was written to: none of them is derived again. */
  readonly takenIds: ReadonlySet<string>;
  /** Told together with those of the entity. */
  readonly extraViolations: readonly Violation[];
}

export interface AdminResponse {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Writes: what every node must have before the answer is sent. */
  readonly programmed?: WriteOutcome["programmed"];
}

/** What a request wants written, worked out and not yet done: to be done, to be told of, or to be part of a batch. */
export interface PreparedWrite {
  readonly writes: readonly Write[];
  /** @param effects of the writes, in their order. */
  respond(effects: readonly Effect[]): Promise<AdminResponse>;
  /** In the words with which a store without writes refuses it. */
  readonly attempt: WriteAttempt;
  /** Whether the step may come out well when it is worked out anew: somebody else was quicker. */
  isRetryable(fault: WriteFault): Promise<boolean>;
}

export interface WriteAttempt {
  readonly verb: "create" | "create or update" | "update" | "remove";
  readonly collection: string;
  /** The member that the URL names the entity by; undefined for its id. */
  readonly by: string | undefined;
}
