/** Starts a node as users start it, with the plugins and the declarative file of a folder. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { builtProgram } from "../../../tools/build/programs.ts";
import { freePort, type Process, startProcess } from "../../../tools/process/index.ts";

export const sluiceProgram = await builtProgram("gateway");

export interface NodeWithPlugins {
  readonly process: Process;
  /** Base URLs of the listeners. The command `gateway` has no listener at `admin`. */
  readonly proxy: string;
  readonly status: string;
  readonly admin: string;
}

/**
 * Starts a node with the file `sluice.json` of the folder. The caller stops its process.
 *
 * @param env SLUICE_PLUGINS, and further settings
 */
export async function startNodeIn(
  folder: string,
  command: "gateway" | "start",
  env: Readonly<Record<string, string>>,
): Promise<NodeWithPlugins> {
  const [proxy, status, admin] = [await freePort(), await freePort(), await freePort()];
  const process = await startProcess(sluiceProgram, [command], {
    name: "sluice",
    ready: /is up"/,
    cwd: folder,
    env: {
      SLUICE_SOURCE: "file",
      SLUICE_STORE: "file",
      SLUICE_FILE: "sluice.json",
      SLUICE_PROXY_LISTEN: `127.0.0.1:${proxy}`,
      SLUICE_STATUS_LISTEN: `127.0.0.1:${status}`,
      SLUICE_ADMIN_LISTEN: `127.0.0.1:${admin}`,
      SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
      ...env,
    },
  });
  return {
    process,
    proxy: `http://127.0.0.1:${proxy}`,
    status: `http://127.0.0.1:${status}`,
    admin: `http://127.0.0.1:${admin}`,
  };
}

/** Writes a file below the folder, and makes the folders above the file. */
export function writeIn(folder: string, name: string, text: string): void {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
