/** Nodes in processes of their own, with one declarative file, that count together at the addresses of SLUICE_PEERS. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { builtProgram } from "../../tools/build/programs.ts";
import { freePort, type Process, startProcess, temporaryFolder, waitFor } from "../../tools/process/index.ts";
import { makeAuthority } from "../../tools/programs/certificates.ts";
import { getUrl } from "./client.ts";

const main = await builtProgram("gateway");

export interface FleetProcess {
  /** The name in views; another one after each start. */
  readonly name: string;
  readonly process: Process;
  /** URLs of the listeners. */
  readonly proxy: string;
  readonly status: string;
}

interface FleetStatus {
  readonly epoch: number;
  readonly members: readonly string[];
}

export interface FileFleetOptions {
  /** Number of nodes. */
  readonly size: number;
  /** The declarative file. */
  readonly document: object;
  /** Further settings of the node with a number. Default: none. */
  readonly settings?: (at: number) => Readonly<Record<string, string>>;
  /**
   * The addresses at which the nodes look for each other, of the nodes that listen for peers at the given ones. Default:
   * the same.
   */
  readonly peers?: (listeners: readonly string[]) => Promise<readonly string[]>;
}

export class FileFleet {
  /** The nodes that run, by their numbers. */
  readonly nodes: FleetProcess[] = [];
  readonly #options: FileFleetOptions;
  readonly #folder = temporaryFolder("fleet");
  #listeners: readonly string[] = [];
  #peers: readonly string[] = [];

  private constructor(options: FileFleetOptions) {
    this.#options = options;
  }

  /** Resolves when all nodes are members of one view. */
  static async start(options: FileFleetOptions): Promise<FileFleet> {
    const fleet = new FileFleet(options);
    try {
      await fleet.#start();
      return fleet;
    } catch (error) {
      await fleet.close();
      throw error;
    }
  }

  /** The working folder of all nodes. */
  get folder(): string {
    return this.#folder.path;
  }

  /** Starts a node in place of the one with this number. */
  async startNode(at: number, settings: Readonly<Record<string, string>> = {}): Promise<FleetProcess> {
    const [proxy, status] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
    const env = {
      SLUICE_SOURCE: "file",
      SLUICE_FILE: "sluice.json",
      SLUICE_PROXY_LISTEN: proxy,
      SLUICE_STATUS_LISTEN: status,
      SLUICE_PEER_LISTEN: this.#listeners[at],
      SLUICE_PEERS: this.#peers.join(","),
      SLUICE_PEER_TLS_CERT: "node.crt",
      SLUICE_PEER_TLS_KEY: "node.key",
      SLUICE_PEER_TLS_CA: "ca.crt",
      SLUICE_WORKERS: "1",
      SLUICE_LOG_LEVEL: "warn",
      ...this.#options.settings?.(at),
      ...settings,
    };
    const started = await startProcess(main, ["gateway"], {
      name: `node ${at}`,
      cwd: this.#folder.path,
      env,
      ready: async () => (await getUrl(`http://${status}/status/ready`)).status === 200,
    });
    const { node: name } = await statusOf(`http://${status}`);
    const node = { name, process: started, proxy: `http://${proxy}`, status: `http://${status}` };
    this.nodes[at] = node;
    return node;
  }

  /** Waits until these nodes, and no others, are members of the same view. */
  async settled(members: readonly FleetProcess[] = this.nodes): Promise<void> {
    await waitFor(
      async () => {
        const views = await Promise.all(members.map(async ({ status }) => (await statusOf(status)).fleet));
        return views.every((view) => view.members.length === members.length && view.epoch === views[0]?.epoch);
      },
      { what: "the same view on all nodes" },
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map(({ process: started }) => started.kill9()));
    this.#folder.remove();
  }

  async #start(): Promise<void> {
    const { size, document, peers } = this.#options;
    const authority = await makeAuthority();
    const sans = ["sluice-gateway"];
    const { certificate, key } = await authority.issue({ name: "sluice-gateway", sans, usage: "peer" });
    const texts = {
      "node.crt": certificate,
      "node.key": key,
      "ca.crt": authority.certificate,
      "sluice.json": JSON.stringify(document),
    };
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(this.#folder.path, name), text);
    const numbers = Array.from({ length: size }, (_, at) => at);
    this.#listeners = await Promise.all(numbers.map(async () => `127.0.0.1:${await freePort()}`));
    this.#peers = (await peers?.(this.#listeners)) ?? this.#listeners;
    await Promise.all(numbers.map((at) => this.startNode(at)));
    await this.settled();
  }
}

async function statusOf(url: string): Promise<{ readonly node: string; readonly fleet: FleetStatus }> {
  const { body } = await getUrl(`${url}/status`);
  return (body as { readonly sluice: { readonly node: string; readonly fleet: FleetStatus } }).sluice;
}

/** The value of a metric without labels. */
export async function fleetMetric({ status }: FleetProcess, name: string): Promise<number> {
  const text = String((await getUrl(`${status}/metrics`)).body);
  return Number(new RegExp(`^${name}\\{\\} (\\d+)$`, "m").exec(text)?.[1]);
}
