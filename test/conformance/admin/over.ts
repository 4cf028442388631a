/** Starts admin listeners for the tables of requests (tables.ts). */
import { startAdmin } from "../../../gateway/src/admin/index.ts";
import { requestAt, silentLog, testingSettings } from "../../../gateway/src/admin/testing.ts";
import { openStore } from "../../../gateway/src/stores/open.ts";
import type { OpenedStore, Store } from "../../../gateway/src/stores/store.ts";
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
