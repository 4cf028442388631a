/** Errors that only HTTP/2 upstreams cause. */
import { closedEarly, UpstreamError, unreadable } from "../../upstream/failure.ts";
import { errorCode, type FrameErrorCode } from "../frames/frame-types.ts";

/** Indexed by error code (RFC 9113 section 7). */
const codeNames = [
  ...["NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED"],
  ...["FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM"],
  ...["INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"],
] as const;

const nameOf = (code: number): string => codeNames[code] ?? `code ${code}`;

const RESET = "SLUICE_STREAM_RESET";

/** @param code Of RST_STREAM. Without an error, or with CANCEL, the reset is like a closed connection. */
export const streamReset = (code: number): UpstreamError =>
  code === errorCode.noError || code === errorCode.cancel
    ? closedEarly()
    : new UpstreamError(RESET, `the upstream ended the stream: ${nameOf(code)}`);

/** @param code Of GOAWAY */
export const connectionLeft = (code: number): UpstreamError =>
  new UpstreamError(RESET, `the upstream is closing the connection and did not process the request: ${nameOf(code)}`);

/** Milliseconds within which an upstream has to answer a PING. */
export const PING_TIME = 5000;

/** The code is that of a broken connection, because the upstream is unreachable. */
export const pingUnanswered = (): UpstreamError =>
  new UpstreamError("ECONNRESET", `the upstream did not answer a PING within ${PING_TIME} ms`);

const violations: Readonly<Partial<Record<FrameErrorCode, string>>> = {
  [errorCode.protocolError]: "an unexpected or malformed frame",
  [errorCode.flowControlError]: "more data than permitted, or a window above the maximum",
  [errorCode.streamClosed]: "a frame on a closed stream",
  [errorCode.frameSizeError]: "a frame of an invalid size",
  [errorCode.compressionError]: "an invalid header block",
  [errorCode.enhanceYourCalm]: "too many frames without content, too many settings, or a header block that is too long",
};

/** @param code With which the gateway ends the stream or the connection */
export const violation = (code: FrameErrorCode): UpstreamError =>
  unreadable(`it violates HTTP/2 (${nameOf(code)}): it sent ${violations[code] ?? "an invalid frame"}`);
