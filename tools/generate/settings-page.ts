/** The reference page of all start-up settings, from their declarations. */
import { type Declarations, describeSettings } from "@sluice/model";
import { type GeneratedFile, markdown } from "../../crds/model/src/generate/files.ts";
import { adminSettings } from "../../gateway/src/settings/admin.ts";
import { configSettings, migrateSettings } from "../../gateway/src/settings/config.ts";
import { gatewaySettings } from "../../gateway/src/settings/gateway.ts";
import { migrationsSettings } from "../../gateway/src/settings/migrations.ts";
import { startSettings } from "../../gateway/src/settings/start.ts";
import { operatorSettings } from "../../operator/src/settings.ts";

/** The settings of each command, as its `--help` lists them. */
export const commands: Readonly<Record<string, Declarations>> = {
  "sluice start": startSettings,
  "sluice gateway": gatewaySettings,
  "sluice admin": adminSettings,
  "sluice config": configSettings,
  "sluice migrate": migrateSettings,
  "sluice migrations": migrationsSettings,
  "sluice-operator": operatorSettings,
};

export function settingsPage(): GeneratedFile {
  const sections = Object.entries(commands).map(
    ([command, declarations]) => `## ${command}\n\n${describeSettings(declarations)}`,
  );
  return markdown(
    "docs/reference/settings.md",
    `# Settings\n\nSettings are environment variables, which a process reads once, when it starts. ` +
      `An empty variable counts as unset. If an unknown variable begins with \`SLUICE_\`, the process exits with an ` +
      `error, because the name is probably misspelt. Each command lists its settings with \`--help\`. ` +
      `The README of the user API lists [its settings](../../user-api/README.md).\n\n${sections.join("\n")}`,
    "gateway/src/settings and operator/src/settings.ts",
  );
}
