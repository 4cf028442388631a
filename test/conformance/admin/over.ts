/** Admin listeners for the table, over a store or at an address. */

import { readSettings } from "../../../crds/model/src/index.ts";
import { startAdmin } from "../../../gateway/src/admin/index.ts";
import { askAt, quiet } from "../../../gateway/src/admin/testing.ts";
import { adminSettings } from "../../../gateway/src/settings/admin.ts";
import type { Opened } from "../../../gateway/src/stores/open.ts";
import type { AdminHolder } from "./suite.ts";

/** Closes the store too. */
export async function adminOver(opened: Opened): Promise<AdminHolder> {
  const settings = readSettings(adminSettings, { SLUICE_ADMIN_LISTEN: "127.0.0.1:0", SLUICE_ADMIN_WAIT: "1ms" });
  if (settings.violations) throw new Error(JSON.stringify(settings.violations));
  const admin = await startAdmin({ settings: settings.value, opened, log: quiet, version: "1.2.3" });
  return {
    ask: askAt(admin.address.port),
    async close() {
      await admin.close();
      await opened.close();
    },
  };
}
