/** The admin listener over a declarative file, for the suites of this folder. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readSettings } from "@sluice/model";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { adminSettings } from "../settings/commands/admin.ts";
import { openStore } from "../stores/open.ts";
import { type Admin, startAdmin } from "./index.ts";
import { requestAt, silentLog } from "./testing.ts";

export interface FileRig {
  readonly admin: Admin;
  readonly ask: ReturnType<typeof requestAt>;
  /** The content of the file. */
  text(): string;
  close(): Promise<void>;
}

export async function startFileRig(text: string, env: Readonly<Record<string, string>> = {}): Promise<FileRig> {
  const folder = temporaryFolder("admin-file");
  const file = join(folder.path, "sluice.yaml");
  writeFileSync(file, text);
  const { value: settings, violations } = readSettings(adminSettings, {
    SLUICE_ADMIN_LISTEN: "127.0.0.1:0",
    SLUICE_STORE: "file",
    SLUICE_FILE: file,
    ...env,
  });
  if (!settings) throw new Error(JSON.stringify(violations));
  const opened = await openStore(settings, silentLog);
  const admin = await startAdmin({ settings, opened, log: silentLog, version: "1.2.3" });
  return {
    admin,
    ask: requestAt(admin.address.port),
    text: () => readFileSync(file, "utf8"),
    async close() {
      await admin.close();
      await opened.close();
      folder.remove();
    },
  };
}
