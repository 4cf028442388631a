/** Requests to operations, and their results. */
import type { IncomingHttpHeaders } from "node:http";
import type { Entity, Violation } from "@sluice/model";
import type { Effect, Store, Write, WriteFault, WriteOutcome } from "../stores/store.ts";
import type { AdminEndpoint } from "./entities/endpoints.ts";
import type { RawMembers } from "./http/decode-body.ts";
import type { WriteAttempt } from "./http/errors.ts";
import type { Query } from "./http/paging.ts";
import type { Preconditions } from "./http/preconditions.ts";

/** A request, independent of the HTTP engine. */
export interface AdminRequest {
  readonly method: string;
  /** Without the query and without a trailing slash. */
  readonly path: string;
  /** Whether the path has a trailing slash. */
  readonly endsInSlash: boolean;
  readonly query: Query;
  /** The decoded parameters of the URL, by name. */
  readonly params: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer | undefined;
  /**
   * Whether the caller is authenticated, if that is required, and uses one of the listener's host names. False is only
   * possible for GET and HEAD of /, /status, the paths of probes and the console.
   */
  readonly trusted: boolean;
  /** The author of the request's writes, for revisions. */
  readonly author: string;
}

/** The store, or the store as it will be after earlier writes of a batch. */
export type EntityReader = Pick<Store, "list" | "find" | "database" | "hiddenPaths">;

/** A request to an endpoint of a collection. */
export interface EntityRequest {
  readonly store: EntityReader;
  readonly endpoint: AdminEndpoint;
  readonly params: { readonly entity?: string; readonly child?: string };
  readonly path: string;
  readonly query: Query;
  /**
   * Decodes the body. `before` is the entity that a form changes: if the form does not name a plugin, its config is
   * decoded for the plugin that `before` names.
   *
   * @throws HttpError when the body cannot be decoded.
   */
  readonly body: (hint?: { readonly before?: object }) => RawMembers;
  readonly preconditions: Preconditions;
  /** Ids that the store reported as in use. A new entity whose derived id is one of them gets a random id. */
  readonly takenIds: ReadonlySet<string>;
  /** Violations that the response reports together with the violations of the entity. */
  readonly extraViolations: readonly Violation[];
}

export interface AdminResponse {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** For writes: waits until every node serves the written entities. The response is sent after this wait. */
  readonly programmed?: WriteOutcome["programmed"];
}

/** The prepared writes of a request: to be done, planned, or added to a batch. */
export interface PreparedWrite {
  readonly writes: readonly Write[];
  /** The response after the writes. @param effects One per write, in order. */
  respond(effects: readonly Effect[]): Promise<AdminResponse>;
  /** Used in the error of a read-only store. */
  readonly attempt: WriteAttempt;
  /** Whether the write may succeed if it is prepared again, for example after another client was faster. */
  isRetryable(fault: WriteFault): Promise<boolean>;
}

/** The operations of one collection's endpoints. */
export interface EntityOperations {
  list(call: EntityRequest): Promise<AdminResponse>;
  show(call: EntityRequest): Promise<AdminResponse>;
  create(call: EntityRequest): Promise<PreparedWrite>;
  upsert(call: EntityRequest): Promise<PreparedWrite>;
  change(call: EntityRequest): Promise<PreparedWrite>;
  remove(call: EntityRequest): Promise<PreparedWrite>;
  /** The entity as responses show it. */
  present(entity: Entity, store: EntityReader): Promise<object>;
  /** The ETag, from the entity and its shown form. */
  tag(entity: Entity, shown: object): string;
  /** Adjusts a body before it is checked. */
  prepare(raw: RawMembers, how: PrepareOptions): RawMembers | Promise<RawMembers>;
}

export interface PrepareOptions {
  /** The entity to change or replace; null: an entity is created. */
  readonly before: Entity | null;
  /** Whether members that the body leaves out stay as they are. */
  readonly isPartial: boolean;
}
