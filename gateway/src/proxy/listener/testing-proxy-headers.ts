/** Headers of the PROXY protocol for tests. */
import { isIPv4 } from "node:net";

export interface HeaderAddresses {
  readonly client: string;
  readonly clientPort: number;
  readonly server: string;
  readonly serverPort: number;
}

export const headerV1 = ({ client, clientPort, server, serverPort }: HeaderAddresses): Buffer =>
  Buffer.from(`PROXY TCP${isIPv4(client) ? 4 : 6} ${client} ${server} ${clientPort} ${serverPort}\r\n`);

/** @param tlvs Bytes after the addresses */
export function headerV2(
  { client, clientPort, server, serverPort }: HeaderAddresses,
  tlvs: Buffer = Buffer.alloc(0),
): Buffer {
  const ports = Buffer.alloc(4);
  ports.writeUInt16BE(clientPort);
  ports.writeUInt16BE(serverPort, 2);
  return rawV2(0x21, isIPv4(client) ? 0x11 : 0x21, Buffer.concat([bytesOf(client), bytesOf(server), ports, tlvs]));
}

/** @param command Version and command @param kind Address family and transport protocol */
export function rawV2(command: number, kind: number, block: Buffer): Buffer {
  const fixed = Buffer.from("\r\n\r\n\0\r\nQUIT\n....", "latin1");
  fixed.writeUInt8(command, 12);
  fixed.writeUInt8(kind, 13);
  fixed.writeUInt16BE(block.length, 14);
  return Buffer.concat([fixed, block]);
}

function bytesOf(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail = ""] = address.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const [before, after] = [groups(head), groups(tail)];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, "0")).join(""), "hex");
}
