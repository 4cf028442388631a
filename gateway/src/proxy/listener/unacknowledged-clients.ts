/**
 * Detects clients that vanished while data was in flight to them. TCP keep-alive probes only when all data is
 * acknowledged; otherwise the kernel retransmits for about 15 minutes (RFC 9293 section 3.8.3; Linux tcp_retries2).
 * Node does not offer TCP_USER_TIMEOUT, but Linux lists the retransmissions of each connection (proc_pid_net(5)). Other
 * systems have no such list: nothing is detected there.
 */
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { canonicalAddress } from "../../outbound/address-set.ts";

/** Number of retransmissions without acknowledgement: reached after 13 s, later on a slow link. */
const RETRANSMISSIONS = 6;

/** An established connection (01) with its retransmission timer running (01). */
const ROW = /^\s*\d+: [\dA-F]+:([\dA-F]{4}) ([\dA-F]+):([\dA-F]{4}) 01 [\dA-F]+:[\dA-F]+ 01:[\dA-F]+ ([\dA-F]{8})/gm;

export interface UnacknowledgedPeer {
  readonly address: string;
  readonly port: number;
  /** Port on the gateway's side. */
  readonly localPort: number;
}

/** Peers that acknowledge nothing, from the text of /proc/net/tcp or /proc/net/tcp6. */
export function unacknowledgedPeers(table: string): readonly UnacknowledgedPeer[] {
  return [...table.matchAll(ROW)].flatMap(([, localPort = "", address = "", port = "", count = ""]) => {
    const hex = (digits: string): number => Number.parseInt(digits, 16);
    if (hex(count) < RETRANSMISSIONS) return [];
    return [{ address: addressOf(address), port: hex(port), localPort: hex(localPort) }];
  });
}

/** @param hex 32-bit words in the byte order of the machine, which is assumed to be little-endian (x64, arm64) */
function addressOf(hex: string): string {
  const bytes = Buffer.from(hex, "hex").swap32();
  if (bytes.length === 4) return bytes.join(".");
  return canonicalAddress(bytes.toString("hex").replace(/(.{4})(?!$)/g, "$1:"));
}

const keyOf = ({ address, port, localPort }: UnacknowledgedPeer): string => `${address} ${port} ${localPort}`;

export interface UnacknowledgedClientsOptions {
  /** Milliseconds between checks. */
  readonly interval: number;
  /** Reads the tables; by default those of this process's network namespace. */
  readonly read?: () => Promise<readonly string[]>;
}

const readTables = (): Promise<readonly string[]> =>
  Promise.all(["tcp", "tcp6"].map((name) => readFile(`/proc/self/net/${name}`, "latin1").catch(() => "")));

/** Destroys connections whose clients vanished. */
export class UnacknowledgedClients {
  readonly #sockets = new Map<string, Socket>();
  readonly #timer: NodeJS.Timeout;
  readonly #read: () => Promise<readonly string[]>;

  constructor({ interval, read = readTables }: UnacknowledgedClientsOptions) {
    this.#read = read;
    this.#timer = setInterval(() => void this.closeVanished(), interval).unref();
  }

  /** @param socket The TCP socket, even for a TLS connection */
  add(socket: Socket): void {
    const { remoteAddress, remotePort, localPort } = socket;
    if (remoteAddress === undefined || remotePort === undefined || localPort === undefined) return;
    const key = keyOf({ address: canonicalAddress(remoteAddress), port: remotePort, localPort });
    this.#sockets.set(key, socket);
    socket.once("close", () => {
      if (this.#sockets.get(key) === socket) this.#sockets.delete(key);
    });
  }

  async closeVanished(): Promise<void> {
    if (this.#sockets.size === 0) return;
    for (const table of await this.#read()) {
      for (const peer of unacknowledgedPeers(table)) this.#sockets.get(keyOf(peer))?.destroy();
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
