/**
 * What one connection of HTTP/2 may cost. Node's defaults are not relied on: each of these is the answer to an attack
 * that is known by a name.
 */
import type { ClientSessionOptions, ServerSessionOptions } from "node:http2";
import type { HeadLimits } from "../http1/parse/request-head.ts";

/** Bytes of a body that the other side may send ahead of what is read, for each stream. */
const WINDOW = 262_144;
/** The same for all streams of a connection: else they would share 64 kB. */
export const CONNECTION_WINDOW = 1_048_576;

/** Requests at a time on one connection of a client. */
export const MAX_STREAMS = 128;

/** Bytes of memory that a connection takes, and a stream under way without its head (measured, rounded up). */
export const CONNECTION_BYTES = 16_384;
export const STREAM_BYTES = 8192;

/** A head is answered with 431 up to so many times its limit; a longer one resets its stream. */
const HARD = 4;

export const clientSessionOptions = ({ fields, count }: HeadLimits): ServerSessionOptions => ({
  settings: { maxConcurrentStreams: MAX_STREAMS, initialWindowSize: WINDOW, maxHeaderListSize: fields * HARD },
  maxHeaderListPairs: count * HARD,
  /** Megabytes of one connection, after which it gets no more streams. */
  maxSessionMemory: 16,
  // Rapid reset (CVE-2023-44487): streams that the client opens and resets at once, in a row and each second.
  streamResetBurst: 500,
  streamResetRate: 50,
  // Frames and streams that break the rules, before the connection ends.
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  // Settings flood and ping flood (CVE-2019-9512, CVE-2019-9515).
  maxSettings: 32,
  maxOutstandingPings: 10,
  // A field that stands twice in a response of an upstream's passes as it is.
  strictSingleValueFields: false,
});

/** Upstreams are trusted with more: what they send was asked for. */
export const upstreamSessionOptions: ClientSessionOptions & Pick<ServerSessionOptions, "strictSingleValueFields"> = {
  settings: { enablePush: false, initialWindowSize: WINDOW },
  maxSessionMemory: 64,
  maxReservedRemoteStreams: 0,
  strictSingleValueFields: false,
};
