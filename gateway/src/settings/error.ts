/** Settings that are missing or contradict each other; the message names the variables. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}
