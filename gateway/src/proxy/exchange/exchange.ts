/**
 * The exchange: one request and its response as router and plugins may see and change them.
 *
 * Nothing here knows which HTTP engine runs. An engine makes an exchange of a request, asks the pipeline what to do
 * (answer or forward), does it, and reports the response's head and the end.
 */
import type { Consumer, Route, Service, SnapshotCredential } from "@sluice/model";
import type { HeaderName } from "../headers/header-name.ts";

export interface ExchangeRequest {
  readonly method: string;
  /** Normalised: dot segments removed, `//` merged, unreserved characters decoded. No query. */
  readonly path: string;
  /** The query as the client sent it, with its `?`; "" when there is none. */
  readonly query: string;
  readonly scheme: "http" | "https";
  /** Host as the client sent it, lower case, with its port if it has one. */
  readonly host: string;
  /** The client's address, after trusted proxies. */
  readonly clientAddress: string;
  /** Server name of the TLS handshake; null for plain http. */
  readonly serverName: string | null;
  /** The value of a header by its lower-case name; several are joined by ", ". */
  header(name: Lowercase<string>): string | undefined;
  /** Every value of a header, one by one, as they came. */
  headerValues(name: Lowercase<string>): readonly string[];
  /** The body, read whole for a plugin that must see it; null when it is longer than `limit` bytes. It is still forwarded. */
  body(limit: number): Promise<Buffer | null>;
}

/** One header's edit, made by `settingHeader` or `removingHeader`. */
export interface HeaderEdit {
  readonly header: HeaderName;
  readonly values: readonly string[];
  /** Whether values that are there already go away. */
  readonly replaces: boolean;
  /** The folded name when values under its other spellings (`X_Name` for `X-Name`) go away too, else null. */
  readonly foldedName: string | null;
  /** The values as lines of a head. */
  readonly lines: string;
}

/** Edits that are made together again and again, of different headers. Made by `editGroup`. */
export interface HeaderEditGroup {
  readonly edits: readonly HeaderEdit[];
  /** Of all. */
  readonly lines: string;
  /** One bit for each length of name. */
  readonly lengths: number;
}

/** Headers that will be sent: the last word wins, names keep the case in which they were set. */
export interface HeaderEdits {
  /** A name that is set with every request is made in advance. */
  set(name: string | HeaderName, value: string): void;
  /** Adds one more value beside those that are there. */
  append(name: string, value: string): void;
  remove(name: string): void;
  /** An edit that was made in advance. */
  apply(edit: HeaderEdit): void;
  applyAll(group: HeaderEditGroup): void;
}

/** What a plugin or the pipeline answers by itself instead of forwarding. */
export interface DirectResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** `message` becomes the body in the form that the client accepts; `body` is sent as it stands. */
  readonly message?: string;
  readonly body?: string;
  /** Why, for the node's log: it names parts of the configuration, which are none of a client's business. */
  readonly reason?: string;
}

/** Looks in the runtime that serves the exchange: a plugin instance outlives runtimes, so it never holds one. */
export interface Identities {
  /** Unexpired credentials with this SHA-256 (hex) of the key, that open the exchange's route. */
  credential(keyHash: string): SnapshotCredential | undefined;
  consumer(idOrUsername: string): Consumer | undefined;
}

/** Milliseconds by a monotonic clock; undefined until it has happened. */
export interface Timings {
  readonly started: number;
  /** The request left for the upstream (last try). */
  forwarded?: number;
  /** The upstream's response head arrived. */
  answered?: number;
  ended?: number;
}

export interface Exchange {
  readonly id: string;
  readonly request: ExchangeRequest;
  readonly route: Route;
  /** Null when the route has none: after its plugins it answers 503. */
  readonly service: Service | null;
  readonly identities: Identities;
  /** Set by authentication. */
  consumer: Consumer | null;
  credential: SnapshotCredential | null;
  /** True when the consumer is a stand-in for requests without a key. */
  anonymous: boolean;
  /** Changes to the request's headers on their way to the upstream. */
  readonly upstreamHeaders: HeaderEdits;
  /** Changes to the response's headers on their way to the client; also applied to answers of the gateway's own. */
  readonly responseHeaders: HeaderEdits;
  /** Removes parameters from the forwarded query. */
  removeQuery(names: readonly string[]): void;
  /** Replaces the forwarded body (after `request.body()`); Content-Length follows. */
  replaceBody(body: Buffer): void;
  readonly timings: Timings;
  /** Status sent to the client; 0 before it is known. */
  readonly status: number;
  /** Whether the upstream or the gateway itself made the response. */
  readonly source: "service" | "gateway";
  readonly bytesIn: number;
  readonly bytesOut: number;
}
