/**
 * Resource limits of one HTTP/2 connection; each limit protects against a known attack.
 */
import type { HeadLimits } from "../http1/parse/head-parser.ts";

/** Bytes of a body that the peer may send before the gateway has read them, per stream. */
export const STREAM_WINDOW = 262_144;
/** Like STREAM_WINDOW, for all streams of a connection together. */
export const CONNECTION_WINDOW = 1_048_576;
/** Bytes of request bodies that a connection may hold for its streams before its window closes. */
export const MOST_HELD = 4_194_304;

/** Bytes that wait for the peer, above which nothing more is read from it. */
export const MOST_BACKLOG = 262_144;

/**
 * Cipher suites of TLS 1.2 that HTTP/2 permits, by OpenSSL's names: those with ephemeral keys and authenticated
 * encryption. All others are in appendix A of RFC 9113.
 */
export const PERMITTED_TLS12_CIPHER = /^(?:ECDHE|DHE)-.*(?:GCM|CCM|CHACHA20)/;

/** Concurrent requests per client connection. */
export const MAX_STREAMS = 128;

/** Bytes of memory of a connection, rounded up. */
export const CONNECTION_BYTES = 16_384;
/** Bytes of memory of an open stream without its head, rounded up. */
export const STREAM_BYTES = 8192;

/**
 * A head above the limit is answered 431; a head above this multiple of the limit, or trailers above the limit itself,
 * reset their stream.
 */
export const EXCESS = 4;

/** Bytes of a compressed header block above which the connection ends (CVE-2024-27316, CONTINUATION flood). */
export const maxBlock = ({ fields }: HeadLimits): number => fields * EXCESS;

/**
 * Resets that a client may cause, as a burst and per second: its own (CVE-2023-44487, rapid reset), and those with
 * which the gateway answers its errors (CVE-2025-8671).
 */
export const resetBudget = { burst: 500, rate: 50 };
/**
 * Frames without content that a peer may send, as a burst and per second: SETTINGS, PING, WINDOW_UPDATE, PRIORITY,
 * CONTINUATION, DATA without content, and frames of unknown types (CVE-2019-9512, 9513, 9515, 9518). Each frame with
 * content that the gateway sends allows FRAMES_PER_CONTENT more, because peers answer DATA with WINDOW_UPDATE.
 * Resets by an upstream count as such frames.
 */
export const controlBudget = { burst: 2000, rate: 500 };
/** Settings in one frame (CVE-2019-9515): each of them may change the windows of all streams. */
export const MOST_SETTINGS = 32;
export const FRAMES_PER_CONTENT = 4;
