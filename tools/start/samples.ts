/** Copies the samples to a folder that the user may edit. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { productAddresses } from "./processes.ts";

export interface SamplesOptions {
  /** Folder of the samples. */
  readonly samples: string;
  /** The destination; an existing folder is not changed. */
  readonly folder: string;
  /** Address of the user API (host:port) that replaces the standard one. */
  readonly userApi: string;
}

/** Copies the samples on the first start. The folder appears complete or not at all. */
export function copySamples({ samples, folder, userApi }: SamplesOptions): void {
  if (existsSync(folder)) return;
  mkdirSync(dirname(folder), { recursive: true });
  const partial = `${folder}.partial`;
  rmSync(partial, { recursive: true, force: true });
  cpSync(samples, partial, { recursive: true });
  for (const name of readdirSync(partial)) {
    const file = join(partial, name);
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replaceAll(`http://${productAddresses.userApi.standard}`, `http://${userApi}`));
  }
  renameSync(partial, folder);
}
