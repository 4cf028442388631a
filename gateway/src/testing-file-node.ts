/** Starts a node over a declarative file in a process of its own, as users start it. */
import { builtProgram } from "../../tools/build/programs.ts";
import { freePort, type Process, startProcess } from "../../tools/process/index.ts";

interface FileNodeOptions {
  /** The declarative file. */
  readonly file: string;
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

interface StartedFileNode {
  readonly node: Process;
  /** Ports of the listeners, on 127.0.0.1. */
  readonly proxy: number;
  readonly status: number;
}

/** Resolves when the node is ready. The caller stops its process. */
export async function startFileNode({ file, env, ...place }: FileNodeOptions): Promise<StartedFileNode> {
  const [proxy, status] = [await freePort(), await freePort()];
  const node = await startProcess(await builtProgram("gateway"), ["gateway"], {
    name: "node",
    ready: `http://127.0.0.1:${status}/readyz`,
    ...place,
    env: {
      SLUICE_SOURCE: "file",
      SLUICE_FILE: file,
      SLUICE_PROXY_LISTEN: `127.0.0.1:${proxy}`,
      SLUICE_STATUS_LISTEN: `127.0.0.1:${status}`,
      ...env,
    },
  });
  return { node, proxy, status };
}
