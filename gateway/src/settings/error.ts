/** Missing or contradictory settings; the message names the variables. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}
