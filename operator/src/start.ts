/** What can be wrong when the operator starts, in words for the person who starts it. */
import { readFile } from "node:fs/promises";
import { KubeconfigError } from "@sluice/crds";
import type { NodeCredentials } from "./publish/node-client.ts";
import { type OperatorSettings, operatorSettings } from "./settings.ts";

export interface StartFault {
  readonly lines: readonly string[];
}

/** Settings that contradict each other. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

/** A token, or the texts of the certificates that the settings name. */
export async function pushCredentials(settings: OperatorSettings): Promise<NodeCredentials> {
  const { pushToken, pushCert, pushKey, pushAuthority, pushServerName } = settings;
  if (pushCert && pushKey && pushAuthority) {
    const read = (file: string) => readFile(file, "utf8");
    const [cert, key, ca] = await Promise.all([read(pushCert), read(pushKey), read(pushAuthority)]);
    return { tls: { cert, key, ca, serverName: pushServerName } };
  }
  if (pushCert || pushKey || pushAuthority) {
    const { pushCert: c, pushKey: k, pushAuthority: a } = operatorSettings;
    throw new SettingsError(`${c.variable}, ${k.variable} and ${a.variable} belong together: set all three`);
  }
  if (pushToken) return { token: pushToken };
  throw new SettingsError(
    `the nodes want proof: set ${operatorSettings.pushToken.variable}, or ${operatorSettings.pushCert.variable} and its companions`,
  );
}

interface SystemError extends Error {
  readonly code?: string;
  readonly path?: string;
}

/** One line that names the setting to change; anything else is a bug and keeps its stack. */
export function startFault(error: SystemError, { listen }: OperatorSettings): StartFault {
  if (error.code === "EADDRINUSE")
    return {
      lines: [`port ${listen.port} is in use: choose another address with ${operatorSettings.listen.variable}`],
    };
  if (error.code === "ENOENT" || error.code === "EACCES") return { lines: [error.message] };
  if (error instanceof SettingsError || error instanceof KubeconfigError) return { lines: [error.message] };
  return { lines: [error.stack ?? error.message] };
}
