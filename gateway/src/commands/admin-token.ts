/** The file with the admin API's token, which the servers of the admin API create and its clients read. */
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type LoadedSettings, SettingsError } from "@sluice/model/serving";
import type { Logger } from "pino";
import { type AccessSettings, accessSettings as names } from "../settings/access.ts";

type TokenSettings = Pick<AccessSettings, "token" | "tokenFile">;

/** Minimum length of a token in a file. An empty or half-written file must not become the token. */
const MIN_LENGTH = 16;

/** The path of the file with the token; null if there is none, or if SLUICE_ADMIN_TOKEN takes precedence. */
export function tokenFileOf({ values, resolved }: Pick<LoadedSettings, "values" | "resolved">): string | null {
  const { token, tokenFile } = values as TokenSettings;
  const isFlag = (setting: string) => resolved.some(({ name, from }) => name === setting && from === "flag");
  return token === null || (isFlag("tokenFile") && !isFlag("token")) ? tokenFile : null;
}

/**
 * The token that callers of the admin API must send; null: the settings name none. A missing file is created.
 *
 * @throws SettingsError if the file has no usable token, or cannot be created.
 */
export async function adminTokenOf(loaded: LoadedSettings, log: Logger): Promise<string | null> {
  const { token, access } = loaded.values as AccessSettings;
  const path = tokenFileOf(loaded);
  // Without authentication no caller needs the token.
  if (path === null || access === "anyone") return token;
  const file = resolve(path);
  const made = await createToken(file);
  const text = made ?? (await readFile(file, "utf8")).trim();
  if (text.length < MIN_LENGTH) {
    throw new SettingsError(
      `${names.tokenFile.variable}: the token in ${file} is shorter than ${MIN_LENGTH} characters: write a longer ` +
        "one, or delete the file, so that a random token is created",
    );
  }
  log.info({ file }, `the admin API requires the token in this file${made === null ? "" : ", which has been created"}`);
  return text;
}

/** Writes a random token into a new file that only its owner may read; resolves to null if the file exists. */
async function createToken(file: string): Promise<string | null> {
  const token = randomBytes(24).toString("base64url");
  try {
    await writeFile(file, `${token}\n`, { flag: "wx", mode: 0o600 });
    return token;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return null;
    throw new SettingsError(
      `${names.tokenFile.variable}: the file cannot be created (${message}): name a file in a writable folder, or ` +
        `set ${names.token.variable}`,
    );
  }
}
