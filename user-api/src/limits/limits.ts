/** Limits for one request, and for sockets and event streams. Each is a setting. */
import type { GraphQLError } from "graphql";
import { createFailure } from "../errors.ts";

export interface NumberSetting {
  /** The end of the environment variable's name. */
  readonly suffix: string;
  readonly standard: number;
  readonly min: number;
  readonly max: number;
  /** True: the variable's text is a duration with a unit, and the numbers of this setting are milliseconds. */
  readonly duration?: boolean;
}

const GIB = 1024 * 1024 * 1024;

export const limitSettings = {
  /** Tokens of a document; the standard introspection query has about 250. Prevents a stack overflow in the parser. */
  tokens: { suffix: "TOKENS", standard: 1_000, min: 100, max: 10_000 },
  /** Nesting depth of fields: `{ users { name } }` has depth 2. Introspection does not count. */
  depth: { suffix: "DEPTH", standard: 8, min: 1, max: 100 },
  aliases: { suffix: "ALIASES", standard: 30, min: 0, max: 1_000 },
  /** Fields of the root type in one operation. */
  rootFields: { suffix: "ROOT_FIELDS", standard: 10, min: 1, max: 1_000 },
  /** Field values that a result may hold, as estimated in advance (see measures.ts). */
  cost: { suffix: "COST", standard: 50_000, min: 1, max: 1_000_000_000 },
  /** Nesting depth of lists and objects in the variables. */
  variablesDepth: { suffix: "VARIABLES_DEPTH", standard: 8, min: 1, max: 100 },
  /**
   * Bytes of a request body or a WebSocket message. Documents are cached by their text, so this limit also bounds the
   * cache's memory.
   */
  bytes: { suffix: "REQUEST_BYTES", standard: 128 * 1024, min: 1_024, max: 16 * 1024 * 1024 },
  /** The time for a complete request to arrive; a slow or silent client's connection ends with 408. */
  receiveMilliseconds: { suffix: "RECEIVE_TIMEOUT", standard: 30_000, min: 100, max: 600_000, duration: true },
  /** The time for executing an operation. Statements that run in the database have a limit of their own. */
  milliseconds: { suffix: "TIMEOUT", standard: 10_000, min: 1, max: 600_000, duration: true },
  page: { suffix: "PAGE", standard: 1_000, min: 1, max: 100_000 },
} as const satisfies Record<string, NumberSetting>;

/** Bounds on the resources that subscribers may hold. */
export const subscriptionLimitSettings = {
  /** Sockets and event streams that may be open at the same time. */
  connections: { suffix: "CONNECTIONS", standard: 20_000, min: 0, max: 1_000_000 },
  /**
   * Sockets and event streams per client; 0: unlimited. All users behind one API key are one consumer, so by default a
   * client may have a quarter of all connections.
   */
  clientConnections: { suffix: "CLIENT_CONNECTIONS", standard: 5_000, min: 0, max: 1_000_000 },
  /** Bytes of memory for the requests and documents of one client's operations. */
  clientBytes: { suffix: "CLIENT_BYTES", standard: 8 * 1024 * 1024, min: 1_024, max: GIB },
  operations: { suffix: "SOCKET_OPERATIONS", standard: 100, min: 1, max: 10_000 },
  /** Bytes that may be buffered for one operation of a socket. */
  operationBytes: { suffix: "OPERATION_QUEUE_BYTES", standard: 256 * 1024, min: 1_024, max: GIB },
  /** Bytes that may be buffered for one socket or event stream; a client with more is too slow. */
  connectionBytes: { suffix: "QUEUE_BYTES", standard: 1024 * 1024, min: 1_024, max: GIB },
  /** The time for a client to send `connection_init`. */
  initMilliseconds: { suffix: "INIT_TIMEOUT", standard: 3_000, min: 1, max: 600_000, duration: true },
  /**
   * The interval of pings and comments by which both sides detect a dead connection. The client of a stream that has
   * ended must read some of the buffered data within two intervals.
   */
  heartbeatMilliseconds: { suffix: "HEARTBEAT_INTERVAL", standard: 20_000, min: 100, max: 600_000, duration: true },
} as const satisfies Record<string, NumberSetting>;

type NumbersOf<Settings> = { readonly [Name in keyof Settings]: number };

export type Limits = NumbersOf<typeof limitSettings>;
export type SubscriptionLimits = NumbersOf<typeof subscriptionLimitSettings>;

export const mapSettings = <Settings extends Readonly<Record<string, NumberSetting>>>(
  settings: Settings,
  read: (setting: NumberSetting) => number,
): NumbersOf<Settings> =>
  Object.fromEntries(Object.entries(settings).map(([name, setting]) => [name, read(setting)])) as NumbersOf<Settings>;

export const defaultLimits: Limits = mapSettings(limitSettings, ({ standard }) => standard);
export const defaultSubscriptionLimits: SubscriptionLimits = mapSettings(
  subscriptionLimitSettings,
  ({ standard }) => standard,
);

/**
 * The error for a value beyond a limit. `unit` is a clause that describes the excess, such as "The variables are nested
 * too deeply".
 */
export function limitExceeded(limit: keyof Limits, limits: Limits, unit: string): GraphQLError {
  const maximum = limits[limit];
  return createFailure("LIMIT_EXCEEDED", `${unit}; the limit is ${maximum}`, { limit, maximum });
}
