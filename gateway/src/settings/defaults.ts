import { type Declarations, readSettings, type SettingsOf } from "@sluice/model/serving";

/** The values for an empty environment, for settings that a command needs but does not declare itself. */
export function defaultsOf<const Declared extends Declarations>(declarations: Declared): SettingsOf<Declared> {
  const { value, violations } = readSettings(declarations, {});
  if (violations) throw new TypeError("these settings cannot all be left out");
  return value;
}
