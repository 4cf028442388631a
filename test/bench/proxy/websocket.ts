/** 1,000 concurrent WebSocket connections, compared with HAProxy's tunnel. */
import { join } from "node:path";
import type { BenchReport } from "../report.ts";
import { type Echoes, openEchoes } from "./echoes.ts";
import { type CaseContestants, sampleOf } from "./field.ts";
import { haproxyTunnel } from "./peers.ts";
import { startSluice } from "./sluice.ts";
import { startBenchProgram } from "./stage.ts";

const CONNECTIONS = 1000;

export async function measureWebsocket(field: CaseContestants): Promise<BenchReport> {
  const { stage, effort } = field;
  const echo = await stage.keep(startBenchProgram("echo", [join(import.meta.dirname, "../peers/echo.ts")]));
  const proxies = {
    "HAProxy's tunnel": await field.start("HAProxy", haproxyTunnel(echo.port)),
    sluice: await field.start("sluice", () => startSluice(stage, { routes: 10, upstream: echo.port })),
  };
  const opened: Echoes[] = [];
  try {
    for (const [name, started] of Object.entries(proxies)) {
      if (!started) continue;
      const url = `ws://127.0.0.1:${started.port}/api/echo`;
      const echoes = await openEchoes({ url, connections: CONNECTIONS });
      opened.push(echoes);
      field.add({ name, sample: () => sampleOf(started.process, () => echoes.run(effort.seconds)) });
    }
    return field.report({
      title: `${CONNECTIONS} WebSocket connections`,
      method:
        "Each connection sends a message of 64 bytes and waits for its echo before it sends the next; each echo counts " +
        "as one request. Client and upstream are Node with ws.",
      samples: await field.run(),
      ratios: [{ name: "sluice / HAProxy's tunnel", of: "sluice", to: "HAProxy's tunnel", bound: 1.5 }],
    });
  } finally {
    for (const echoes of opened) echoes.close();
  }
}
