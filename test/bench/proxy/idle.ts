/** Memory of a node with 10,000 idle client connections after one request each. */
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { atMost, type BenchReport } from "../report.ts";
import type { CaseContestants } from "./field.ts";
import { residentMemory } from "./memory.ts";
import { pluginsContent } from "./plugins.ts";
import { startSluice } from "./sluice.ts";

const CONNECTIONS = 10_000;
/** Connections opened at a time: fewer than the backlog of a listener. */
const AT_A_TIME = 100;
/** Number of source addresses of this machine, so that ephemeral ports suffice. */
const ADDRESSES = 8;
/** Milliseconds for a node to become idle. */
const REST = 3000;

const REQUEST = "GET /api/x HTTP/1.1\r\nHost: localhost\r\napikey: key-0\r\n\r\n";

export async function measureIdle(field: CaseContestants): Promise<BenchReport> {
  const { stage } = field;
  const started = await stage.keep(startSluice(stage, pluginsContent, { SLUICE_KEEPALIVE_TIMEOUT: "10m" }));
  const { pid } = started.process;
  const sockets: Socket[] = [];
  try {
    await openMore(sockets, AT_A_TIME, started.port);
    await sleep(REST);
    const few = residentMemory(pid).now;
    await openMore(sockets, CONNECTIONS, started.port);
    await sleep(REST);
    const { now, most } = residentMemory(pid);
    const alive = sockets.filter(({ readyState }) => readyState === "open").length;
    if (alive < CONNECTIONS) throw new Error(`only ${alive} of ${CONNECTIONS} connections stayed open`);
    return {
      title: "10,000 idle connections",
      method:
        "Resident memory of a node with one worker, four plugins, 10,000 routes and 1,000 consumers from a file, with " +
        `${AT_A_TIME} and with 10,000 idle connections. Each connection has had one request answered; memory is read ` +
        `${REST / 1000} s after the last response.`,
      rows: [
        { connections: AT_A_TIME, MB: Math.round(few) },
        { connections: CONNECTIONS, MB: Math.round(now), "maximum MB": Math.round(most) },
      ],
      verdicts: [
        atMost("10,000 idle connections", now, { bound: 200, unit: " MB" }),
        `each connection takes ${(((now - few) * 1024) / (CONNECTIONS - AT_A_TIME)).toFixed(1)} kB`,
      ],
    };
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** Opens connections until `count` have received their response. */
async function openMore(sockets: Socket[], count: number, port: number): Promise<void> {
  while (sockets.length < count) {
    const more = Math.min(AT_A_TIME, count - sockets.length);
    const opened = Array.from({ length: more }, (_, index) => openOne(port, `127.0.0.${2 + (index % ADDRESSES)}`));
    sockets.push(...(await Promise.all(opened)));
  }
}

function openOne(port: number, localAddress: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, localAddress }, () => socket.write(REQUEST));
    let head = "";
    socket.setEncoding("latin1");
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("a connection was closed before its answer")));
    socket.on("data", (piece: string) => {
      head += piece;
      if (!head.includes("\r\n\r\n")) return;
      if (!head.startsWith("HTTP/1.1 200")) reject(new Error(`not status 200: ${head.slice(0, 100)}`));
      socket.removeAllListeners("data");
      // Discards the rest of the response.
      socket.resume();
      resolve(socket);
    });
  });
}
