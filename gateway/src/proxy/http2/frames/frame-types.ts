/** Constants of HTTP/2 frames (RFC 9113 sections 4 to 7, RFC 8441 section 3, RFC 9218 section 7). */

export const frameType = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
  priorityUpdate: 16,
} as const;

export const END_STREAM = 0x1;
/** Of SETTINGS and PING. */
export const ACK = 0x1;
export const END_HEADERS = 0x4;
export const PADDED = 0x8;
export const PRIORITY = 0x20;

export const errorCode = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
  inadequateSecurity: 12,
} as const;

export type FrameErrorCode = (typeof errorCode)[keyof typeof errorCode];

export const setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
  enableConnectProtocol: 8,
  noPriorities: 9,
} as const;

/** Bytes of a frame's header. */
export const FRAME_HEADER = 9;
/** The largest payload that the gateway accepts, and sends: the value that every endpoint accepts. */
export const MAX_FRAME = 16_384;
/** Window of the connection, and of a stream without SETTINGS. */
export const DEFAULT_WINDOW = 65_535;
export const MAX_WINDOW = 0x7fffffff;
/** The largest SETTINGS_MAX_FRAME_SIZE. */
export const MAX_FRAME_LIMIT = 0xffffff;
/** Masks the reserved bit of a stream id. */
export const STREAM_ID = 0x7fffffff;
/** Bytes of a setting: an identifier and a value. */
export const SETTING_LENGTH = 6;
/** Bytes of a priority: the parent stream and a weight. */
export const PRIORITY_LENGTH = 5;

export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");
