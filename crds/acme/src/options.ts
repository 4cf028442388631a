/** `@sluice/acme/options`: the options of orders from the settings of a process. Does not load the ACME client. */
import { readFile } from "node:fs/promises";
import { type AcmeSettings, acmeSettings as names, SettingsError } from "@sluice/model/serving";
import type { AcmeOrdersOptions } from "./orders.ts";

export type AcmeOptions = Pick<AcmeOrdersOptions, "directories" | "email" | "ca" | "externalAccountBinding">;

/** @throws SettingsError if the settings contradict each other, or the file of CAs cannot be read. */
export async function acmeOptionsOf(settings: AcmeSettings): Promise<AcmeOptions> {
  const { acmeDirectories: directories, acmeEmail: email, acmeAuthority, acmeBindingId, acmeBindingKey } = settings;
  const { acmeDirectories, acmeAuthority: file, acmeBindingId: kid, acmeBindingKey: hmac } = names;
  const wrong = directories.find((url) => !URL.canParse(url) || new URL(url).protocol !== "https:");
  if (directories.length === 0) throw new SettingsError(`${acmeDirectories.variable} must name at least one directory`);
  if (wrong !== undefined)
    throw new SettingsError(`${acmeDirectories.variable}: ${wrong} is not a URL that begins with https://`);
  if ((acmeBindingId === null) !== (acmeBindingKey === null))
    throw new SettingsError(`${kid.variable} and ${hmac.variable} belong together: set both or none`);
  const ca =
    acmeAuthority === null
      ? null
      : await readFile(acmeAuthority, "utf8").catch((error: Error) => {
          throw new SettingsError(`${file.variable}: ${error.message}`);
        });
  const externalAccountBinding =
    acmeBindingId === null || acmeBindingKey === null ? null : { kid: acmeBindingId, hmacKey: acmeBindingKey };
  return { directories, email, ca, externalAccountBinding };
}
