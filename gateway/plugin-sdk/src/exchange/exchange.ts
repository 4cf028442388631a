/**
 * The exchange: one request and its response as the router and plugins may see and change them.
 *
 * It does not depend on the HTTP engine. For a request from an engine, the pipeline creates an exchange and determines
 * the action (answer or forward). The engine performs the action, and reports the head and the end of the response.
 */
import type { X509Certificate } from "node:crypto";
import type { CredentialPlugin, PluginIdentity } from "../credentials/plugin-credentials.ts";
import type { RecordSchema } from "../schema/member.ts";
import type {
  ExchangeCaCertificate,
  ExchangeConsumer,
  ExchangeCredential,
  ExchangeCredentials,
  ExchangeGraphqlDocuments,
  ExchangeRoute,
  ExchangeService,
  StoredCredential,
} from "./entities.ts";
import type { HeaderName } from "./header-name.ts";

/** The connection on which the client sent the request: the same object for all requests of one connection. */
export interface ClientConnection {
  /** The address at which the connection was accepted. */
  readonly localAddress: string;
  /** The port at which the connection was accepted. */
  readonly port: number;
  /** Whether the connection itself has TLS; `ExchangeRequest.scheme` may come from a trusted proxy. */
  readonly scheme: "http" | "https";
  /**
   * The certificates that the client sent in the TLS handshake: its own, whose private key it has proved to own, and
   * then at most 19 others in received order. Nothing else about them is verified. Empty: the client sent none. Null:
   * the handshake did not request any, or the connection has no TLS.
   */
  readonly clientCertificates: readonly X509Certificate[] | null;
}

export interface ExchangeRequest {
  readonly method: string;
  /**
   * Normalised: dot segments are removed, `//` is merged, and escapes are decoded, except those of reserved characters,
   * of `%` and of bytes that are not UTF-8. No query.
   */
  readonly path: string;
  /** The query as the client sent it, with bytes above ASCII encoded, and with its `?`; "" when there is none. */
  readonly query: string;
  /** The path as the client sent it, with bytes above ASCII encoded. No query. */
  readonly sentPath: string;
  /**
   * Path and query as the client sent them. Bytes above ASCII are characters of Latin-1; if the target is not in origin
   * form (RFC 9112 section 3.2.1), they are encoded.
   */
  readonly sentTarget: string;
  /** `1.0`, `1.1` or `2`. */
  readonly httpVersion: string;
  readonly scheme: "http" | "https";
  /** Host as the client sent it, in lower case, with the port if one was sent. */
  readonly host: string;
  /** The client's address: that of the connection, unless a trusted proxy reports another address. */
  readonly clientAddress: string;
  /** Server name of the TLS handshake; null without TLS or SNI. */
  readonly serverName: string | null;
  readonly connection: ClientConnection;
  /**
   * The value of a header, by its lower-case name. Several values are combined as in Node's `message.headers`: usually
   * joined by ", ".
   */
  header(name: Lowercase<string>): string | undefined;
  /** All headers in received order: name, value, name, value. */
  readonly rawHeaders: readonly string[];
  /** All values of a header in received order, not joined. */
  headerValues(name: Lowercase<string>): readonly string[];
  /**
   * The complete body for a plugin that has to read it; null when longer than `limit` bytes. The body is still
   * forwarded.
   */
  body(limit: number): Promise<Buffer | null>;
  /**
   * As `body`, without a promise: small bodies usually arrive together with the head, and a promise would cost more time
   * than most plugins need for them. Undefined: a part is still to arrive, so `body` must be used.
   */
  arrivedBody(limit: number): Buffer | null | undefined;
}

/** An edit of one header, created by a function such as `setHeaderEdit` or `removeHeaderEdit`. */
export interface HeaderEdit {
  readonly header: HeaderName;
  readonly values: readonly string[];
  /** Whether existing values are removed. */
  readonly replaces: boolean;
  /** The folded name when other spellings (`X_Name` for `X-Name`) are removed too, else null. */
  readonly foldedName: string | null;
  /** The values as lines of a head. */
  readonly lines: string;
}

/** Edits of distinct headers that are applied together repeatedly. Created by `editGroup`. */
export interface HeaderEditGroup {
  /** The edited headers, in the order of the edits. */
  readonly headers: readonly HeaderName[];
  readonly edits: readonly HeaderEdit[];
  /** Lines of all edits. */
  readonly lines: string;
  /** Bit set of the names' lengths. */
  readonly lengths: number;
  /** Bit set of the headers' `bit`. */
  readonly bits: number;
}

/** Edits of headers to be sent: the last edit of a name applies, and names keep the case in which they were set. */
export interface HeaderEdits {
  /** For a name that is set on every request, pass a `HeaderName` that was created once. */
  set(name: string | HeaderName, value: string): void;
  /** Adds a value to existing ones. */
  append(name: string, value: string): void;
  remove(name: string): void;
  /** Applies an edit that was created in advance. */
  apply(edit: HeaderEdit): void;
  applyAll(group: HeaderEditGroup): void;
}

/** A response by a plugin or the pipeline, instead of forwarding. */
export interface DirectResponse {
  readonly status: number;
  /** A list is sent as one header line for each of its values. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Sent in a format that the client accepts. */
  readonly message?: string;
  /** Sent unchanged. The bytes of a buffer must not be changed afterwards. */
  readonly body?: string | Buffer;
  /**
   * Headers of an upstream's response that a plugin has kept, as a flat list: name, value, name, value. They are sent
   * like those of a response that has just arrived. To be used with `body` and without `headers`. Content-Length
   * is the length of the body; in the response to HEAD, it is the one in the list, if any.
   */
  readonly keptHeaders?: readonly string[];
  /** Sent as JSON. gRPC clients receive the JSON text as the message of the gRPC status. */
  readonly json?: Readonly<Record<string, unknown>>;
  /** Reason for the node's log. It may name parts of the configuration, which clients must not see. */
  readonly reason?: string;
}

/** Lookups in the exchange's runtime. Plugin instances outlive runtimes, so they must not keep this object. */
export interface Identities {
  /**
   * The namespace of the route's custom resource. The authors of resources in this namespace decide who is
   * authenticated on its routes. Null: the configuration has no namespaces.
   */
  readonly namespace: string | null;
  /**
   * The unexpired credential with this value that is valid for the exchange's route; undefined if there is none.
   *
   * @param value The key of jwt_secrets, the user name of basicauth_credentials and hmacauth_credentials; for
   * keyauth_credentials the SHA-256 of the key in hex.
   */
  credential<Name extends keyof ExchangeCredentials>(
    collection: Name,
    value: string,
  ): ExchangeCredentials[Name] | undefined;
  /**
   * Why a credential with this value is not valid for the exchange's route, for the `reason` of a response: clients must
   * not learn that it exists. Null: there is no such credential, or it is valid.
   */
  whyInvalid(collection: keyof ExchangeCredentials, value: string): string | null;
  /** As `credential`, for a collection in which several credentials may have the same value. */
  credentials(
    collection: "mtls_auth_credentials",
    subjectName: string,
  ): readonly ExchangeCredentials["mtls_auth_credentials"][];
  /**
   * The credential of a plugin with this key, if it is valid for the exchange's route, and its consumer.
   *
   * @param plugin The facts of the plugin, which declare its credentials.
   * @param key As the client sent it.
   */
  pluginIdentity<Schema extends RecordSchema>(
    plugin: CredentialPlugin<Schema>,
    key: string,
  ): PluginIdentity<Schema> | undefined;
  /** The credential with this id, of any collection, if it has not expired and is valid for the exchange's route. */
  credentialById(id: string): StoredCredential | undefined;
  /** The consumer's groups, for the plugin acl. The same list until the groups change. */
  groups(consumerId: string): readonly { readonly group: string }[];
  consumer(idOrUsername: string): ExchangeConsumer | undefined;
  consumerByCustomId(customId: string): ExchangeConsumer | undefined;
  /** The CA certificate with this id: the same object until it changes, so that plugins may cache derived values. */
  caCertificate(id: string): ExchangeCaCertificate | undefined;
}

/** Milliseconds of a monotonic clock; undefined until the event. */
export interface Timings {
  readonly started: number;
  /** When the last attempt to forward the request began. */
  forwarded?: number;
  /** When the head of the upstream's response arrived. */
  answered?: number;
  ended?: number;
}

/** One attempt to forward the request to a target. */
export interface ForwardAttempt {
  /** Milliseconds of the same clock as `Timings`. */
  readonly started: number;
  readonly host: string;
  readonly port: number;
  readonly failed: boolean;
}

/** A copy of the forwarded request that another service receives. Its response is ignored. */
export interface MirroredRequest {
  /** Name or id of the service. */
  readonly service: string;
  /** Maximum bytes of the body. A request with a longer body is not mirrored. */
  readonly maxBody: number;
  /** Milliseconds within which the complete response must arrive. */
  readonly timeout: number;
  /**
   * Called once when the copy has ended. Not called if the request itself is not forwarded.
   *
   * @param failure Why no complete response has arrived; null: it has
   */
  onEnd(failure: MirrorFailure | null): void;
}

export interface MirrorFailure {
  /** `failed`: the service could not be reached, or has not responded in time. `dropped`: nothing was sent. */
  readonly kind: "failed" | "dropped";
  /** Contains no data of the request. */
  readonly reason: string;
}

/**
 * What happens to a message of a client: null: it is forwarded. `forward`: this text is forwarded instead. `reply`: it is
 * not forwarded, and the client gets this text. `close`: the WebSocket is closed with this code (RFC 6455 section 7.4)
 * and this reason of at most 123 bytes.
 */
export type MessageVerdict =
  | null
  | { readonly forward: string }
  | { readonly reply: string }
  | { readonly close: number; readonly reason: string };

/** Inspects the messages that a client sends over a WebSocket. Binary messages close it. */
export interface MessageInspector {
  /** Maximum bytes of a message. A longer one closes the WebSocket. */
  readonly limit: number;
  inspect(text: string): MessageVerdict;
  /** Observes the messages of the upstream. Absent or null: they pass unread. */
  readonly upstream?: MessageObserver | null;
}

/** Observes the text messages that an upstream sends over a WebSocket. They pass unchanged. */
export interface MessageObserver {
  /** Maximum bytes of a message. Larger messages, and those that arrive in more than 5,000 parts, pass unobserved. */
  readonly limit: number;
  /**
   * Called before the end of the message is passed on. An error is logged, and does not affect the message.
   *
   * @param message Text in UTF-8, which has not been checked
   */
  observe(message: Buffer): void;
}

/** A JSON value. */
export type LogValue = string | number | boolean | null | readonly LogValue[] | { readonly [name: string]: LogValue };

/** Text in UTF-8, in memory that is used again for another text. */
export interface TransientBytes {
  readonly bytes: Buffer;
  /** Number of bytes of the text, which begins at the first byte. */
  readonly length: number;
}

export interface Exchange {
  readonly id: string;
  readonly request: ExchangeRequest;
  readonly route: ExchangeRoute;
  /** Null when the route has no service: after the plugins have run, the response is 503. */
  readonly service: ExchangeService | null;
  /**
   * The capture groups of the route's path by name and by number, where `0` is the whole match; null: the path is not
   * a regular expression.
   */
  readonly pathCaptures: Readonly<Record<string, string>> | null;
  readonly identities: Identities;
  /**
   * The GraphQL documents with this name or id: the same object until they change, so that plugins may cache derived
   * values. Undefined: there are none.
   */
  graphqlDocuments(nameOrId: string): ExchangeGraphqlDocuments | undefined;
  /** Values that a plugin leaves for plugins that run after it (`kong.ctx.shared` in Kong). */
  readonly shared: Map<string, string | boolean>;
  /** The consumer that an authentication plugin has set; null: no plugin has set one. */
  consumer: ExchangeConsumer | null;
  credential: ExchangeCredential | null;
  /** Groups that an authentication plugin found outside Sluice, such as in a directory. Null: no plugin has set any. */
  authenticatedGroups: readonly string[] | null;
  /** True when the consumer is the anonymous one, for requests without credentials. */
  anonymous: boolean;
  /** Edits of the request's headers for the upstream. */
  readonly upstreamHeaders: HeaderEdits;
  /** Edits of the response's headers for the client; also applied to the gateway's own responses. */
  readonly responseHeaders: HeaderEdits;
  /**
   * The values of a header as the upstream would receive them after the edits so far. Identity headers
   * (`X-Consumer-*` and others) that the client sent are not forwarded, so their values are left out.
   */
  upstreamHeaderValues(name: Lowercase<string>): readonly string[];
  /**
   * The values of a header of the response after the edits so far. Values that the gateway itself adds at the end are
   * not included. The headers of the response are known in the phases `response`, `responseHeaders` and `responseBody`
   * and to body filters; at other times the result may contain only values that plugins have set.
   */
  responseHeaderValues(name: Lowercase<string>): readonly string[];
  /**
   * The headers of the response as the upstream sent them, or as the gateway created them, without any edits. A flat
   * list in received order: name, value, name, value. Empty where `responseHeaderValues` does not know the response's
   * headers.
   */
  readonly receivedHeaders: readonly string[];
  /** The method that is sent to the upstream. Initially the client's. */
  upstreamMethod: string;
  /**
   * The path that is sent instead of the one that results from service and route, without a query. It must start with
   * `/`. Characters that are not allowed in a path are encoded when it is sent, except `?` and `#`, which the plugin
   * must encode. Initially null.
   */
  upstreamPath: string | null;
  /** The query that is sent to the upstream, encoded and with its `?`; "" for none. Initially the client's. */
  upstreamQuery: string;
  /**
   * Set by a plugin that converts the request to gRPC, and moves the trailers of the response into its body. HTTP/1.1
   * clients may then call a gRPC service; otherwise they are refused, because they would not receive the trailers.
   * Initially false.
   */
  convertsGrpc: boolean;
  /** Removes the parameters with these names from the forwarded query. */
  removeQuery(names: readonly string[]): void;
  /**
   * Replaces the forwarded body (after `request.body()`); Content-Length is adjusted. A request without a body gets
   * one, unless it asks for an upgrade of the protocol.
   */
  replaceBody(body: Buffer): void;
  /**
   * Limits the length of the client's body, which still streams. Returns `refusal` if the body is already known to be
   * longer. Otherwise `refusal` is sent as soon as the body turns out to be longer, and the request to the upstream is
   * cancelled; if the response has already begun, it is aborted.
   */
  limitBody(limit: number, refusal: DirectResponse): DirectResponse | undefined;
  /**
   * Sends a copy of the request to another service too, as it is forwarded: after the edits of all plugins, with the same
   * method, path, query and body. The copy is sent once the body is complete. It delays neither the request nor its
   * response. A worker drops copies while 100 of them to the service are under way, or while the bodies of all copies
   * have 32 MiB. Requests for an upgrade to WebSocket are not copied.
   */
  mirror(request: MirroredRequest): void;
  /**
   * Inspects the messages of the client, and observes those of the upstream, if the request opens a WebSocket. Without
   * effect for other requests. Of several inspectors, the last one applies. Messages are not compressed: the upstream
   * gets no Sec-WebSocket-Extensions.
   */
  inspectMessages(inspector: MessageInspector): void;
  readonly timings: Timings;
  /** The attempts so far, in their order. */
  readonly attempts: readonly ForwardAttempt[];
  /** Status of the response; 0 until known, 499 if the client disconnected before a response. */
  readonly status: number;
  /** Whether the upstream or the gateway itself created the response. */
  readonly source: "service" | "gateway";
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Sets a member of the log record. Dots in the name separate nested members; null removes the member. */
  setLogField(name: string, value: LogValue): void;
  /**
   * The record of the exchange as JSON in the format of Kong's log plugins. To be called only in the log phase.
   * Authorization headers and API keys are redacted. The first call builds the record.
   */
  logRecord(): string;
  /**
   * As `logRecord`, in UTF-8. Takes less time and memory, but the bytes are valid only until the log phase ends:
   * `DeliveryQueue.add` copies them.
   */
  logRecordBytes(): TransientBytes;
}
