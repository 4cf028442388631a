/** `sluice settings`: prints the settings of another command and the source of each value. */
import { type Declarations, type LoadedSettings, shownValue } from "@sluice/model/serving";
import { type Command, defineCommand } from "./command.ts";
import { formatData, formatTable } from "./terminal/output.ts";

/** @param declared The settings of the other command. */
export const settingsCommand = (declared: Declarations): Command =>
  defineCommand({
    settings: declared,
    ends: true,
    reportsSettings: true,
    async run({ loadedSettings, given, print }) {
      const rows = rowsOf(loadedSettings);
      const { output } = given.options;
      if (output === "yaml" || output === "json") print(formatData(output, rows));
      else {
        const cells = rows.map(({ setting, value, from }) => [setting, value ?? "-", from]);
        print(formatTable([["SETTING", "VALUE", "FROM"], ...cells]));
      }
      const { violations } = loadedSettings;
      for (const { path, message } of violations) process.stderr.write(`sluice: ${path[0]}: ${message}\n`);
      return violations.length > 0 ? 1 : 0;
    },
  });

interface SettingRow {
  readonly setting: string;
  /** Null: unset, or invalid. */
  readonly value: string | null;
  /** `default`, or the place of the value. */
  readonly from: string;
}

const rowsOf = ({ resolved }: LoadedSettings): readonly SettingRow[] =>
  resolved.map(({ declaration, value, fault, from, place }) => ({
    setting: declaration.variable,
    value: fault === undefined ? shownValue(declaration, value) : null,
    from: fault === undefined ? (from === "default" ? from : place) : `${place} (invalid)`,
  }));
