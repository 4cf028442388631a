/** Starts admin listeners for the tables of requests (tables.ts). */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { startAdmin } from "../../../gateway/src/admin/index.ts";
import { requestAt, silentLog, testingSettings } from "../../../gateway/src/admin/testing.ts";
import { createFileSource } from "../../../gateway/src/sources/file/file-source.ts";
import { createIntake } from "../../../gateway/src/sources/intake.ts";
import { createFileStore } from "../../../gateway/src/stores/file/index.ts";
import { openStore } from "../../../gateway/src/stores/open.ts";
import type { OpenedStore, Store } from "../../../gateway/src/stores/store.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import type { AdminHolder } from "./suite.ts";

/** The store that `sluice admin` would open with this environment. */
export const openWith = (env: Readonly<Record<string, string>>): Promise<OpenedStore> =>
  openStore(testingSettings({ SLUICE_OPERATOR_URL: "http://127.0.0.1:1", ...env }), silentLog);

/** The store, with a fleet that knows no nodes. */
export const withoutNodes = (store: Store): Pick<OpenedStore, "store" | "fleet"> => ({
  store,
  fleet: {
    status: async () => null,
    nodes: async () => [],
    askPlugin: async () => ({ answered: [], unanswered: [] }),
  },
});

/** Closing the listener closes the store too. */
export async function adminOver(opened: OpenedStore): Promise<AdminHolder> {
  const admin = await startAdmin({ settings: testingSettings(), opened, log: silentLog, version: "1.2.3" });
  return {
    ask: requestAt(admin.address.port),
    async close() {
      await admin.close();
      await opened.close();
    },
  };
}

/** An admin listener over a new declarative file that may be written. */
export async function holdFile(): Promise<AdminHolder> {
  const folder = temporaryFolder("table-file");
  const file = join(folder.path, "sluice.yml");
  writeFileSync(file, '_format_version: "3.0"\n');
  const log = pino({ level: "silent" });
  const source = createFileSource({ file, log, keepContent: true });
  await source.start(createIntake({ node: "n", version: "0", serve() {} }));
  const store = createFileStore({ file, source, writable: true, programmed: async () => null, log });
  return adminOver({
    ...withoutNodes(store),
    async close() {
      await source.stop();
      folder.remove();
    },
  });
}
