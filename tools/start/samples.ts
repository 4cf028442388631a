/** The samples as a folder of one's own. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { addresses } from "./processes.ts";

export interface SamplesOptions {
  /** Folder of the samples. */
  readonly samples: string;
  /** Where they are copied; nothing is done when it exists. */
  readonly folder: string;
  /** Address of the user API, host:port, in place of the standard one. */
  readonly userApi: string;
}

/** Copies the samples on the first start. The folder appears whole or not at all. */
export function keepSamples({ samples, folder, userApi }: SamplesOptions): void {
  if (existsSync(folder)) return;
  mkdirSync(dirname(folder), { recursive: true });
  const partial = `${folder}.partial`;
  rmSync(partial, { recursive: true, force: true });
  cpSync(samples, partial, { recursive: true });
  for (const name of readdirSync(partial)) {
    const file = join(partial, name);
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replaceAll(`http://${addresses.userApi.standard}`, `http://${userApi}`));
  }
  renameSync(partial, folder);
}
