/** The shared resources of one run's cases: upstreams, a folder, and the clean-up of all started processes. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, type Process, startProcess, temporaryFolder } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { nginxConfig } from "./nginx.ts";

/** A started program and its port on 127.0.0.1. */
export interface Started {
  readonly process: Process;
  readonly port: number;
}

export interface Stage {
  readonly folder: string;
  /** Port of the upstream with 100 bytes of JSON at any path; with nginx, it has files at /64k and /1m. */
  readonly upstream: number;
  /** Port of an upstream that reads a request's body before it responds. */
  readonly reader: number;
  /** A certificate for localhost and its P-256 key, both in PEM. */
  readonly certificate: { readonly certificate: string; readonly key: string };
  /** Writes a file into the folder and returns its path. */
  file(name: string, text: string): string;
  /** Waits until the program has started, and registers it for `clear`. */
  keep<Kind extends Started>(start: Promise<Kind>): Promise<Kind>;
  /** Stops everything that was registered. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** Starts one of the bench's own programs, which print their port. */
export async function startBenchProgram(name: string, args: readonly string[]): Promise<Started> {
  const started = await startProcess(process.execPath, args, { name, ready: /listening on (\d+)/ });
  return { process: started, port: Number(/listening on (\d+)/.exec(started.output())?.[1]) };
}

const peers = join(import.meta.dirname, "../peers");

async function startNginxUpstream(folder: string): Promise<Started> {
  const port = await freePort();
  const files = join(folder, "files");
  mkdirSync(files);
  writeFileSync(join(files, "64k"), "x".repeat(64 * 1024));
  writeFileSync(join(files, "1m"), "x".repeat(1024 * 1024));
  const json = JSON.stringify({ message: "x".repeat(86) });
  const server = [
    "open_file_cache max=10; sendfile on; tcp_nopush on;",
    `server { listen 127.0.0.1:${port}; root ${files};`,
    `  location / { default_type application/json; return 200 '${json}'; }`,
    "  location = /64k {} location = /1m {}",
    "}",
  ];
  const config = join(folder, "upstream.conf");
  writeFileSync(config, nginxConfig(folder, server));
  const started = await startProcess(await obtainTool("nginx"), ["-c", config, "-p", folder], {
    name: "nginx upstream",
    ready: `http://127.0.0.1:${port}/`,
  });
  return { process: started, port };
}

export async function createStage(): Promise<Stage> {
  const folder = temporaryFolder("bench");
  const lasting: Started[] = [];
  const kept: Started[] = [];
  const end = async (list: Started[]) => {
    for (const { process: running } of list.splice(0).reverse()) await running.stop();
  };
  const close = async () => {
    await end(kept);
    await end(lasting);
    folder.remove();
  };
  try {
    const reader = await startBenchProgram("upstream", [join(peers, "upstream.ts")]);
    lasting.push(reader);
    const upstream = await startNginxUpstream(folder.path).catch((error: unknown) => {
      console.log(
        `nginx cannot be the upstream, so a Node server is used instead: ${error instanceof Error ? error.message : error}`,
      );
      return undefined;
    });
    if (upstream) lasting.push(upstream);
    const authority = await makeAuthority();
    return {
      folder: folder.path,
      upstream: (upstream ?? reader).port,
      reader: reader.port,
      certificate: await authority.issue({ name: "localhost", sans: ["localhost"], usage: "server" }),
      file(name, text) {
        const path = join(folder.path, name);
        writeFileSync(path, text);
        return path;
      },
      async keep(start) {
        const started = await start;
        kept.push(started);
        return started;
      },
      clear: () => end(kept),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
