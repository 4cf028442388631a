import { type AdminSettings, adminSettings } from "../../settings/admin.ts";
import type { ConfigSettings } from "../../settings/config.ts";
import { defaultsOf } from "../../settings/start.ts";

/** The settings that open a store; settings that only the admin listener reads keep their defaults. */
export const storeSettings = (settings: ConfigSettings): AdminSettings => ({
  ...defaultsOf(adminSettings),
  ...settings,
});
