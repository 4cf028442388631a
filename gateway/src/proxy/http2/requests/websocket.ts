/** The parts of a WebSocket's handshake that HTTP/2 does not have (RFC 8441 section 5), and that HTTP/1.1 needs. */
import { createHash, randomBytes } from "node:crypto";

/** The value of `:protocol` and of Upgrade. */
export const WEBSOCKET = "websocket";

const KEY_BYTES = 16;
/** RFC 6455 section 1.3. */
const ACCEPT_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

export const newWebSocketKey = (): string => randomBytes(KEY_BYTES).toString("base64");

/** The Sec-WebSocket-Accept with which a server accepts the key (RFC 6455 section 4.2.2). */
export const webSocketAccept = (key: string): string =>
  createHash("sha1").update(`${key}${ACCEPT_SUFFIX}`).digest("base64");
