/** The stores that an admin listener can write to, each as a running product for Kong's clients. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { builtProgram } from "../../../tools/build/programs.ts";
import { startClusterProduct } from "../../../tools/cluster/product.ts";
import { startProcess, temporaryFolder } from "../../../tools/process/index.ts";
import { startPostgres } from "../../../tools/programs/servers/postgres.ts";
import { startDirectoryProduct } from "../../../tools/start/directory-product.ts";
import type { ChosenAddresses, Env } from "../../../tools/start/processes.ts";
import { freeAddresses } from "../../product/free-addresses.ts";

export interface RunningStore {
  /** http:// URL of the admin listener. */
  readonly admin: string;
  /** http:// URL of a node's proxy. */
  readonly proxy: string;
  stop(): Promise<void>;
}

export interface WritableStore {
  /**
   * As in SLUICE_STORE, except `postgres`, which is the store `database` in a Postgres server. `database` itself is the
   * embedded database.
   */
  readonly name: string;
  /** Starts the product without any entity. */
  start(): Promise<RunningStore>;
}

type Stop = () => Promise<unknown>;

/** @param settings Further settings of the process. */
export const databaseStore = (settings: Env = {}): WritableStore =>
  store("database", ({ chosen, work }) =>
    startAlone(chosen, { SLUICE_DATABASE_DIR: join(work, "database"), ...settings }),
  );

export const writableStores: readonly WritableStore[] = [
  databaseStore(),
  store("postgres", async ({ chosen }) => {
    const server = await startPostgres();
    const stop = await startAlone(chosen, postgresSettings(server.url));
    return async () => {
      await stop();
      await server.stop();
    };
  }),
  store("file", ({ chosen, work }) => {
    const file = join(work, "kong.yaml");
    writeFileSync(file, '_format_version: "3.0"\n');
    return startAlone(chosen, { SLUICE_FILE: file, SLUICE_FILE_WRITABLE: "true", SLUICE_STORE: "file" });
  }),
  store("directory", async ({ chosen, work }) => {
    const folder = join(work, "resources");
    mkdirSync(folder);
    return (await startDirectoryProduct({ chosen, work, folder })).stop;
  }),
  store("cluster", async ({ chosen, work }) => (await startClusterProduct({ chosen, work })).stop),
];

function store(name: string, run: (place: { chosen: ChosenAddresses; work: string }) => Promise<Stop>): WritableStore {
  return {
    name,
    async start() {
      const folder = temporaryFolder(`clients-${name}`);
      const chosen = await freeAddresses();
      const stop = await run({ chosen, work: folder.path });
      return {
        admin: `http://${chosen.admin}`,
        proxy: `http://${chosen.proxy}`,
        async stop() {
          await stop();
          folder.remove();
        },
      };
    },
  };
}

const postgresSettings = (url: string): Env => {
  const { hostname, port, username, password } = new URL(url);
  return {
    SLUICE_DATABASE: "postgres",
    SLUICE_PG_HOST: hostname,
    SLUICE_PG_PORT: port,
    SLUICE_PG_USER: username,
    SLUICE_PG_PASSWORD: password,
    SLUICE_PG_DATABASE: "postgres",
  };
};

/** Runs `sluice start`, a node and the admin listener in one process. Resolves to a function that stops it. */
async function startAlone(chosen: ChosenAddresses, store: Env): Promise<Stop> {
  const main = await builtProgram("gateway");
  const env = {
    SLUICE_STORE: "database",
    SLUICE_DATABASE: "embedded",
    SLUICE_PROXY_LISTEN: chosen.proxy,
    SLUICE_PROXY_TLS_LISTEN: "127.0.0.1:0",
    SLUICE_STATUS_LISTEN: chosen.status,
    SLUICE_ADMIN_LISTEN: chosen.admin,
    SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
    SLUICE_LOG_LEVEL: "warn",
    ...store,
  };
  if (env.SLUICE_STORE === "database") {
    const made = await startProcess(main, ["migrations", "bootstrap"], { name: "bootstrap", env });
    if ((await made.ended()).code !== 0) throw new Error(`bootstrap failed:\n${made.tail()}`);
  }
  const ready = `http://${chosen.admin}/`;
  const started = await startProcess(main, ["start"], { name: "sluice", env, ready });
  return () => started.stop();
}
