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
  readonly #sockets = new Set<Socket>();
  readonly #timer: NodeJS.Timeout;
  readonly #read: () => Promise<readonly string[]>;
  /** One listener for all sockets. */
  readonly #onClose: (this: Socket) => void;

  constructor({ interval, read = readTables }: UnacknowledgedClientsOptions) {
    const sockets = this.#sockets;
    this.#onClose = function forget() {
      sockets.delete(this);
    };
    this.#read = read;
    this.#timer = setInterval(() => void this.closeVanished(), interval).unref();
  }

  /** @param socket The TCP socket, even for a TLS connection */
  add(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("close", this.#onClose);
  }

  async closeVanished(): Promise<void> {
    if (this.#sockets.size === 0) return;
    const vanished = (await this.#read()).flatMap(unacknowledgedPeers);
    if (vanished.length === 0) return;
    const keys = new Set(vanished.map(keyOf));
    const ports = new Set(vanished.map(({ port }) => port));
    // The client's port is compared first: Node knows it, but asks the kernel for the local port.
    for (const socket of this.#sockets)
      if (ports.has(socket.remotePort ?? 0) && keys.has(keyOf(peerOfSocket(socket)))) socket.destroy();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

const keyOf = ({ address, port, localPort }: UnacknowledgedPeer): string => `${address} ${port} ${localPort}`;

/** Port 0 and the address "" belong to no peer: the socket is already closed. */
const peerOfSocket = ({ remoteAddress = "", remotePort = 0, localPort = 0 }: Socket): UnacknowledgedPeer => ({
  address: canonicalAddress(remoteAddress),
  port: remotePort,
  localPort,
});
