/** Memory of a node with idle client connections, after one request each. */
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { block, frame, frameBytes, frameFlags } from "../../conformance/engine/http2-frames.ts";
import { atMost, type BenchReport } from "../report.ts";
import type { CaseContestants } from "./field.ts";
import { residentMemory } from "./memory.ts";
import { pluginsContent } from "./plugins.ts";
import { type SluiceStarted, startSluice } from "./sluice.ts";

const CONNECTIONS = 10_000;
/** Connections opened at a time: fewer than the backlog of a listener. */
const AT_A_TIME = 100;
/** Number of source addresses of this machine, so that ephemeral ports suffice. */
const ADDRESSES = 8;
/** Milliseconds for a node to become idle. */
const REST = 3000;

/** Enough time and memory for all connections. */
const settings = { SLUICE_KEEPALIVE_TIMEOUT: "10m", SLUICE_CLIENT_MEMORY: "1073741824" };

interface ConnectionKind {
  readonly name: string;
  readonly isHttp2: boolean;
  readonly count: number;
  readonly secure: boolean;
  /** What the client sends first. */
  readonly request: Buffer;
  /** Whether the whole response has arrived. */
  readonly isAnswered: (received: Buffer) => boolean;
  /** What the client sends after the response. */
  readonly end: Buffer;
}

const http1 = {
  isHttp2: false,
  request: Buffer.from("GET /api/x HTTP/1.1\r\nHost: localhost\r\napikey: key-0\r\n\r\n"),
  isAnswered(received: Buffer): boolean {
    const head = received.toString("latin1");
    if (head.length >= 12 && !head.startsWith("HTTP/1.1 200")) throw new Error(`not status 200: ${head.slice(0, 100)}`);
    return head.includes("\r\n\r\n");
  },
  end: Buffer.alloc(0),
};

const SETTINGS_ACK = 1;
const BODY_BYTES = 100;

const http2 = (scheme: "http" | "https") => ({
  isHttp2: true,
  request: Buffer.concat([
    Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    frameBytes(frame.settings, 0, 0),
    frameBytes(
      frame.headers,
      frameFlags.endStream | frameFlags.endHeaders,
      1,
      block([
        [":method", "GET"],
        [":scheme", scheme],
        [":path", "/api/x"],
        [":authority", "localhost"],
        ["apikey", "key-0"],
      ]),
    ),
  ]),
  /** A response with another body is an error of the gateway. */
  isAnswered(received: Buffer): boolean {
    let body = 0;
    for (let at = 0; at + 9 <= received.length; at += 9 + received.readUIntBE(at, 3)) {
      const [length, type, flags = 0] = [received.readUIntBE(at, 3), received[at + 3], received[at + 4]];
      if (at + 9 + length > received.length || received.readUInt32BE(at + 5) !== 1) continue;
      if (type === frame.data) body += length;
      if ((flags & frameFlags.endStream) === 0) continue;
      if (body !== BODY_BYTES) throw new Error(`a response has ${body} bytes`);
      return true;
    }
    return false;
  },
  end: frameBytes(frame.settings, SETTINGS_ACK, 0),
});

const kinds: readonly ConnectionKind[] = [
  { name: "HTTP/1.1", count: CONNECTIONS, secure: false, ...http1 },
  { name: "HTTP/2", count: CONNECTIONS, secure: false, ...http2("http") },
  { name: "HTTP/1.1 over TLS", count: CONNECTIONS / 5, secure: true, ...http1 },
  { name: "HTTP/2 over TLS", count: CONNECTIONS / 5, secure: true, ...http2("https") },
];

export async function measureIdle(field: CaseContestants): Promise<BenchReport> {
  const { stage } = field;
  const rows: Record<string, string | number>[] = [];
  const used = new Map<string, { readonly megabytes: number; readonly each: number }>();
  for (const kind of kinds) {
    const env = { ...settings, ...(kind.isHttp2 && { SLUICE_PROXY_HTTP2: "true" }) };
    const { few, now, most } = await measureKind(kind, await stage.keep(startSluice(stage, pluginsContent, env)));
    await stage.clear();
    const each = ((now - few) * 1024) / (kind.count - AT_A_TIME);
    used.set(kind.name, { megabytes: now, each });
    rows.push({
      connections: kind.name,
      count: kind.count,
      [`MB with ${AT_A_TIME}`]: Math.round(few),
      "MB with all": Math.round(now),
      "maximum MB": Math.round(most),
      "kB per connection": Number(each.toFixed(1)),
    });
  }
  const [plain, second] = [used.get("HTTP/1.1"), used.get("HTTP/2")];
  return {
    title: "Idle connections",
    method:
      "Resident memory of a node with one worker, four plugins, 10,000 routes and 1,000 consumers from a file, with " +
      `${AT_A_TIME} and with all idle connections of a kind. Each connection has had one request answered; memory is ` +
      `read ${REST / 1000} s after the last response.`,
    rows,
    verdicts: [
      atMost("10,000 idle connections of HTTP/1.1", plain?.megabytes ?? Number.NaN, { bound: 200, unit: " MB" }),
      atMost("an idle connection of HTTP/2 without TLS", second?.each ?? Number.NaN, { bound: 10, unit: " kB" }),
    ],
  };
}

/** Megabytes with few connections and with all of them, and the maximum. */
async function measureKind(kind: ConnectionKind, { process: { pid }, port, tlsPort }: SluiceStarted) {
  const sockets: Socket[] = [];
  const to = kind.secure ? tlsPort : port;
  try {
    await openMore(kind, { sockets, count: AT_A_TIME, port: to });
    await sleep(REST);
    const few = residentMemory(pid).now;
    await openMore(kind, { sockets, count: kind.count, port: to });
    await sleep(REST);
    const alive = sockets.filter(({ readyState }) => readyState === "open").length;
    if (alive < kind.count) throw new Error(`only ${alive} of ${kind.count} connections stayed open`);
    return { few, ...residentMemory(pid) };
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** Opens connections until `count` have received their response. */
async function openMore(
  kind: ConnectionKind,
  { sockets, count, port }: { readonly sockets: Socket[]; readonly count: number; readonly port: number },
): Promise<void> {
  while (sockets.length < count) {
    const more = Math.min(AT_A_TIME, count - sockets.length);
    const opened = Array.from({ length: more }, (_, index) =>
      openOne(kind, port, `127.0.0.${2 + (index % ADDRESSES)}`),
    );
    sockets.push(...(await Promise.all(opened)));
  }
}

function openOne(kind: ConnectionKind, port: number, localAddress: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const plain = connect({ host: "127.0.0.1", port, localAddress });
    const protocols = [kind.isHttp2 ? "h2" : "http/1.1"];
    // The authority of the stage's certificate exists only during the bench.
    const socket = kind.secure
      ? connectTls({ socket: plain, servername: "localhost", ALPNProtocols: protocols, rejectUnauthorized: false })
      : plain;
    let received = Buffer.alloc(0);
    socket.once(kind.secure ? "secureConnect" : "connect", () => socket.write(kind.request));
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("a connection was closed before its response")));
    socket.on("data", (piece: Buffer) => {
      received = Buffer.concat([received, piece]);
      try {
        if (!kind.isAnswered(received)) return;
      } catch (error) {
        reject(error);
        return;
      }
      socket.removeAllListeners("data");
      socket.write(kind.end);
      // Discards the rest of the response.
      socket.resume();
      resolve(socket);
    });
  });
}
