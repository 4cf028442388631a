import { type AdminSettings, adminSettings } from "../../settings/admin.ts";
import type { ConfigSettings } from "../../settings/config.ts";
import { defaultsOf } from "../../settings/start.ts";

/** What opens a store; what only the admin listener asks for keeps its defaults. */
export const storeSettings = (settings: ConfigSettings): AdminSettings => ({
  ...defaultsOf(adminSettings),
  ...settings,
});
