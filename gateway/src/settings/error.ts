/** A problem with the settings, or with what they select, that the user must fix; the message says what to change. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}
