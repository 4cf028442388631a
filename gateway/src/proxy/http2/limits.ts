/**
 * Resource limits of one HTTP/2 connection, set explicitly instead of relying on Node's defaults: each limit protects
 * against a known attack.
 */
import type { ClientSessionOptions, ServerSessionOptions } from "node:http2";
import type { HeadLimits } from "../http1/parse/head-parser.ts";

/** Bytes of a body that the peer may send before the gateway has read them, per stream. */
const WINDOW = 262_144;
/** Like WINDOW, for all streams of a connection together; Node's default is 64 kB. */
export const CONNECTION_WINDOW = 1_048_576;

/** Concurrent requests per client connection. */
export const MAX_STREAMS = 128;

/** Bytes of memory of a connection (measured, rounded up). */
export const CONNECTION_BYTES = 16_384;
/** Bytes of memory of an open stream without its head (measured, rounded up). */
export const STREAM_BYTES = 8192;

/** A head above the limit is answered 431; a head above this multiple of the limit resets its stream. */
const HARD = 4;

export const clientSessionOptions = ({ fields, count }: HeadLimits): ServerSessionOptions => ({
  settings: { maxConcurrentStreams: MAX_STREAMS, initialWindowSize: WINDOW, maxHeaderListSize: fields * HARD },
  maxHeaderListPairs: count * HARD,
  /** Megabytes of one connection above which it may open no more streams. */
  maxSessionMemory: 16,
  // Rapid reset (CVE-2023-44487): allowed resets of streams by the client, as a burst and per second.
  streamResetBurst: 500,
  streamResetRate: 50,
  // Protocol violations that are tolerated before the connection closes.
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  // Settings flood and ping flood (CVE-2019-9515, CVE-2019-9512).
  maxSettings: 32,
  maxOutstandingPings: 10,
  // A duplicate field in an upstream's response is forwarded unchanged.
  strictSingleValueFields: false,
});

/** Upstreams have higher limits: they send only what was requested. */
export const upstreamSessionOptions: ClientSessionOptions & Pick<ServerSessionOptions, "strictSingleValueFields"> = {
  settings: { enablePush: false, initialWindowSize: WINDOW },
  maxSessionMemory: 64,
  maxReservedRemoteStreams: 0,
  strictSingleValueFields: false,
};
