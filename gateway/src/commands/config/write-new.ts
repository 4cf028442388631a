/** Writes a new file. An existing file is never overwritten. */
import { writeFile } from "node:fs/promises";
import { CommandError } from "../command.ts";

/** @param mode Mode of the file. Default: readable by the owner only, because the file contains keys. */
export async function writeNew(file: string, text: string, mode = 0o600): Promise<void> {
  try {
    await writeFile(file, text, { flag: "wx", mode });
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "EEXIST") throw error;
    throw new CommandError(`${file} already exists and is not overwritten: choose another name, or move it`);
  }
}
