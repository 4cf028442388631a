/**
 * Reads the header of the PROXY protocol, versions 1 and 2, with which a load balancer begins a connection (HAProxy,
 * doc/proxy-protocol.txt). The TLVs of version 2 are skipped, with their checksum.
 */
import { isIPv4, isIPv6 } from "node:net";
import { canonicalAddress } from "../../outbound/address-set.ts";
import type { ProxiedAddresses } from "../client/open-connection.ts";

export interface ProxyHeader {
  /** Null: the connection is the load balancer's own, such as a health check, or the header names no TCP addresses. */
  readonly addresses: ProxiedAddresses | null;
  /** The bytes that follow the header; empty: none have arrived yet. */
  readonly rest: Buffer;
}

/** Maximum bytes of a header; nginx has the same limit. Without TLVs, the longest has 232 bytes. */
export const MAX_PROXY_HEADER = 4096;

const V1_START = Buffer.from("PROXY ", "latin1");
/** Maximum bytes of a header of version 1, with its line end. */
const V1_MAX = 107;
const V1_LINE =
  /^PROXY (?:UNKNOWN(?: [^\r\n]*)?|(TCP4|TCP6) ([\da-fA-F.:]+) ([\da-fA-F.:]+) (0|[1-9]\d{0,4}) (0|[1-9]\d{0,4}))$/;
const MAX_PORT = 65_535;

const V2_START = Buffer.from([0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]);
/** Bytes before the addresses of version 2. */
const V2_FIXED = 16;
const LOCAL = 0x20;
const PROXY = 0x21;
const TCP4 = 0x11;
const TCP6 = 0x21;
/** Bytes of the addresses and ports, by address family (the high half of the 14th byte): UNSPEC, IPv4, IPv6, UNIX. */
const V2_SIZES = [0, 12, 36, 216] as const;
/** The greatest transport protocol (the low half of the 14th byte): DGRAM. */
const MAX_TRANSPORT = 2;

/** The header at the start of the bytes, and its length. */
type Parsed = Pick<ProxyHeader, "addresses"> & { readonly size: number };

/** Incremental: the header may arrive in pieces. */
export class ProxyHeaderReader {
  /** The first bytes of an incomplete header. */
  #kept: Buffer | null = null;
  #size = 0;

  /** @returns null: the header is incomplete; a text: why it is invalid */
  read(piece: Buffer): ProxyHeader | string | null {
    const before = this.#size;
    const kept = this.#kept;
    const bytes = kept === null ? piece : this.#keep(kept, piece);
    const parsed = parse(bytes);
    if (typeof parsed === "string") return parsed;
    if (parsed !== null) return { addresses: parsed.addresses, rest: piece.subarray(parsed.size - before) };
    if (kept === null) {
      this.#kept = Buffer.allocUnsafe(MAX_PROXY_HEADER);
      this.#keep(this.#kept, piece);
    }
    return null;
  }

  /** Appends the piece, up to the maximum length of a header. Returns all kept bytes. */
  #keep(kept: Buffer, piece: Buffer): Buffer {
    this.#size += piece.copy(kept, this.#size);
    return kept.subarray(0, this.#size);
  }
}

function parse(bytes: Buffer): Parsed | string | null {
  if (startsWith(bytes, V1_START)) return bytes.length < V1_START.length ? null : parseV1(bytes);
  if (startsWith(bytes, V2_START)) return bytes.length < V2_FIXED ? null : parseV2(bytes);
  return "the first bytes are no PROXY header";
}

/** Whether the bytes begin with `start`, as far as they have arrived. */
function startsWith(bytes: Buffer, start: Buffer): boolean {
  const size = Math.min(bytes.length, start.length);
  return bytes.compare(start, 0, size, 0, size) === 0;
}

function parseV1(bytes: Buffer): Parsed | string | null {
  const line = bytes.toString("latin1", 0, V1_MAX);
  const end = line.indexOf("\r\n");
  if (end < 0) return line.length < V1_MAX ? null : `the line of version 1 is longer than ${V1_MAX} bytes`;
  const fields = V1_LINE.exec(line.slice(0, end));
  if (fields === null) return "the line of version 1 is malformed";
  const size = end + 2;
  const [, family, client = "", server = "", ...ports] = fields;
  if (family === undefined) return { addresses: null, size };
  const isAddress = family === "TCP4" ? isIPv4 : isIPv6;
  if (!isAddress(client) || !isAddress(server)) return `an address of version 1 is not of the family ${family}`;
  const [clientPort, serverPort] = ports.map(Number);
  if (clientPort === undefined || serverPort === undefined || Math.max(clientPort, serverPort) > MAX_PORT)
    return `a port of version 1 is greater than ${MAX_PORT}`;
  return {
    addresses: { client: canonicalAddress(client), clientPort, server: canonicalAddress(server), serverPort },
    size,
  };
}

function parseV2(bytes: Buffer): Parsed | string | null {
  const command = bytes.readUInt8(12);
  if (command !== LOCAL && command !== PROXY) return "the version or command of version 2 is unknown";
  const size = V2_FIXED + bytes.readUInt16BE(14);
  if (size > MAX_PROXY_HEADER) return `the header of version 2 is longer than ${MAX_PROXY_HEADER} bytes`;
  const kind = bytes.readUInt8(13);
  if (command === PROXY) {
    const addressSize = V2_SIZES[kind >> 4];
    if (addressSize === undefined || (kind & 15) > MAX_TRANSPORT) return "the address family of version 2 is unknown";
    if (size < V2_FIXED + addressSize) return "the header of version 2 is too short for its addresses";
  }
  if (bytes.length < size) return null;
  return { addresses: command === PROXY ? addressesV2(kind, bytes.subarray(V2_FIXED, size)) : null, size };
}

/** @param block The addresses, which the ports follow: of the client and of the server */
function addressesV2(kind: number, block: Buffer): ProxiedAddresses | null {
  if (kind !== TCP4 && kind !== TCP6) return null;
  const [length, textOf] = kind === TCP4 ? [4, textOfIpv4] : [16, textOfIpv6];
  return {
    client: textOf(block.subarray(0, length)),
    clientPort: block.readUInt16BE(2 * length),
    server: textOf(block.subarray(length, 2 * length)),
    serverPort: block.readUInt16BE(2 * length + 2),
  };
}

const textOfIpv4 = (bytes: Buffer): string => bytes.join(".");

const textOfIpv6 = (bytes: Buffer): string => canonicalAddress(bytes.toString("hex").replace(/(.{4})(?!$)/g, "$1:"));
