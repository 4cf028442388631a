import { builtProgram } from "../../tools/build/programs.ts";
import { startProcess } from "../../tools/process/index.ts";
import { startPostgres } from "../../tools/programs/servers/postgres.ts";
import type { RunningStore } from "../e2e/admin/stores.ts";
import { freeAddresses } from "../product/free-addresses.ts";

const main = await builtProgram("gateway");

/** In the result, `admin` is the URL of the admin API of `sluice start`, and `proxy` the URL of the second node. */
export async function startSeveralNodes(): Promise<RunningStore> {
  const ends: (() => Promise<unknown>)[] = [];
  async function stop(): Promise<void> {
    for (const end of ends.toReversed()) await end();
  }
  try {
    const postgres = await startPostgres();
    ends.push(postgres.stop);
    const { hostname, port, username, password } = new URL(postgres.url);
    const database = {
      SLUICE_STORE: "database",
      SLUICE_SOURCE: "database",
      SLUICE_DATABASE: "postgres",
      SLUICE_PG_HOST: hostname,
      SLUICE_PG_PORT: port,
      SLUICE_PG_USER: username,
      SLUICE_PG_PASSWORD: password,
      SLUICE_PG_DATABASE: "postgres",
      SLUICE_LOG_LEVEL: "warn",
    };
    const made = await startProcess(main, ["migrations", "bootstrap"], {
      name: "bootstrap",
      env: database,
    });
    if ((await made.ended()).code !== 0) throw new Error(`bootstrap failed:\n${made.tail()}`);
    const [one, other] = [await freeAddresses(), await freeAddresses()];
    for (const [command, { proxy, status, admin }] of [
      ["start", one],
      ["gateway", other],
    ] as const) {
      const env = {
        ...database,
        SLUICE_PROXY_LISTEN: proxy,
        SLUICE_PROXY_TLS_LISTEN: "127.0.0.1:0",
        SLUICE_STATUS_LISTEN: status,
        SLUICE_ADMIN_LISTEN: admin,
      };
      const ready = `http://${status}/status/ready`;
      const node = await startProcess(main, [command], { name: command, env, ready });
      ends.push(() => node.stop());
    }
    return { admin: `http://${one.admin}`, proxy: `http://${other.proxy}`, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
