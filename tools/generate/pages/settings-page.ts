/** The reference page of all start-up settings, from their declarations. */
import { type Declarations, describeSettings } from "@sluice/model";
import { type GeneratedFile, generatedPage } from "../../../crds/model/src/generate/files.ts";
import { adminSettings } from "../../../gateway/src/settings/commands/admin.ts";
import { clientSettings } from "../../../gateway/src/settings/commands/client.ts";
import { configSettings, migrateSettings } from "../../../gateway/src/settings/commands/config.ts";
import { gatewaySettings } from "../../../gateway/src/settings/commands/gateway.ts";
import { migrationsSettings } from "../../../gateway/src/settings/commands/migrations.ts";
import { startSettings } from "../../../gateway/src/settings/commands/start.ts";
import { operatorSettings } from "../../../operator/src/settings.ts";

/** The settings of each command, or of commands with the same settings, as `--help` lists them. */
export const settingsByCommand: Readonly<Record<string, Declarations>> = {
  "sluice start": startSettings,
  "sluice gateway": gatewaySettings,
  "sluice admin": adminSettings,
  "sluice config": configSettings,
  "sluice migrate": migrateSettings,
  "sluice migrations": migrationsSettings,
  "commands that talk to the admin API": clientSettings,
  "sluice-operator": operatorSettings,
};

export function settingsPage(): GeneratedFile {
  const sections = Object.entries(settingsByCommand).map(
    ([command, declarations]) => `## ${command}\n\n${describeSettings(declarations)}`,
  );
  return generatedPage(
    "docs/reference/settings.md",
    `# Settings\n\nA process reads its settings once, when it starts. Each setting has an environment ` +
      `variable, a flag of the command, and a member of a settings file; the names of the flag and of the member ` +
      `follow from that of the variable. A flag overrides the variable, and the variable overrides the file. An ` +
      `empty variable or member counts as unset. ` +
      `\`sluice settings COMMAND\` prints the settings of a command, with their values and the source of each value; ` +
      `\`--help\` of a command describes them.\n\n` +
      `- A setting with the value true or false has two flags without a value, such as \`--pg-ssl\` and ` +
      `\`--no-pg-ssl\`. A flag whose value is a list may be given several times.\n` +
      `- A setting with a secret has no flag, because every user of a machine can see the arguments of its processes.\n` +
      `- The settings file is named by \`--settings FILE\` or SLUICE_SETTINGS. It is a YAML mapping, in which lists ` +
      `may be sequences:\n\n  \`\`\`yaml\n  proxy_listen: 0.0.0.0:8000\n  pg_ssl: true\n` +
      `  trusted_ips: [10.0.0.0/8, "::1"]\n  \`\`\`\n\n  Several programs of Sluice may share a file. Paths in ` +
      `the file are resolved from the working directory, like paths in variables.\n` +
      `- An unknown flag, an unknown variable that begins with \`SLUICE_\`, and an unknown member are errors, because ` +
      `the name is probably misspelt.\n\n` +
      `The [glossary](../../ARCHITECTURE.md#glossary) defines terms such as node, document, source and store. The README ` +
      `of the user API lists [its settings](../../user-api/README.md).\n\n${sections.join("\n")}`,
    "gateway/src/settings and operator/src/settings.ts",
  );
}
