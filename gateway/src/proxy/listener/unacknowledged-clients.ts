/**
 * Clients that vanished while bytes were on their way to them. TCP keep-alive asks only where everything is acknowledged;
 * otherwise the system sends the same bytes again for about 15 minutes (RFC 9293 3.8.3; tcp_retries2 of Linux). Node does
 * not have TCP_USER_TIMEOUT, but Linux tells of each connection how often it has sent again (proc_pid_net(5)). Elsewhere
 * nothing is found.
 */
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { canonicalAddress } from "../exchange/trusted-proxies.ts";

/** How often the same bytes were sent without an answer: after 13 s, and later on a slow link. */
const RETRANSMISSIONS = 6;

/** An established connection (01) with its retransmission timer running (01). */
const ROW = /^\s*\d+: [\dA-F]+:([\dA-F]{4}) ([\dA-F]+):([\dA-F]{4}) 01 [\dA-F]+:[\dA-F]+ 01:[\dA-F]+ ([\dA-F]{8})/gm;

export interface UnacknowledgedPeer {
  readonly address: string;
  readonly port: number;
  /** On this side. */
  readonly localPort: number;
}

/** The other ends that acknowledge nothing, from the text of /proc/net/tcp or /proc/net/tcp6. */
export function unacknowledgedPeers(table: string): readonly UnacknowledgedPeer[] {
  return [...table.matchAll(ROW)].flatMap(([, localPort = "", address = "", port = "", count = ""]) => {
    const hex = (digits: string): number => Number.parseInt(digits, 16);
    if (hex(count) < RETRANSMISSIONS) return [];
    return [{ address: addressOf(address), port: hex(port), localPort: hex(localPort) }];
  });
}

/** Words of 32 bits, each in the byte order of the machine; Node runs on none where that is not little-endian. */
function addressOf(hex: string): string {
  const bytes = Buffer.from(hex, "hex").swap32();
  if (bytes.length === 4) return bytes.join(".");
  return canonicalAddress(bytes.toString("hex").replace(/(.{4})(?!$)/g, "$1:"));
}

const keyOf = ({ address, port, localPort }: UnacknowledgedPeer): string => `${address} ${port} ${localPort}`;

export interface UnacknowledgedClientsOptions {
  /** Milliseconds between looks. */
  readonly interval: number;
  /** The tables; by default those of this process's network. */
  readonly read?: () => Promise<readonly string[]>;
}

const readTables = (): Promise<readonly string[]> =>
  Promise.all(["tcp", "tcp6"].map((name) => readFile(`/proc/self/net/${name}`, "latin1").catch(() => "")));

/** Ends connections whose clients vanished. */
export class UnacknowledgedClients {
  readonly #sockets = new Map<string, Socket>();
  readonly #timer: NodeJS.Timeout;
  readonly #read: () => Promise<readonly string[]>;

  constructor({ interval, read = readTables }: UnacknowledgedClientsOptions) {
    this.#read = read;
    this.#timer = setInterval(() => void this.closeVanished(), interval).unref();
  }

  /** The socket as the system has it: below TLS, if there is any. */
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
