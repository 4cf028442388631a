/** `sluice admin`: the admin listener without a node. */
import { startAdmin } from "../admin/index.ts";
import { adminSettings } from "../settings/commands/admin.ts";
import { registerConfiguredPlugins } from "../settings/plugins.ts";
import { sluiceVersion } from "../settings/version.ts";
import { openStore } from "../stores/open.ts";
import { adminTokenOf } from "./admin-token.ts";
import { defineCommand } from "./command.ts";

export const adminCommand = defineCommand({
  settings: adminSettings,
  async run({ settings: given, loadedSettings, log, logLevel }) {
    const settings = { ...given, token: await adminTokenOf(loadedSettings, log) };
    await registerConfiguredPlugins(settings, "schema");
    const opened = await openStore(settings, log);
    const running = await startAdmin({ settings, opened, log, logLevel, version: sluiceVersion });
    log.info({ address: running.address }, "admin is up");
    return {
      async close() {
        await running.close();
        await opened.close();
      },
    };
  },
});
