import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Writes an executable that runs this command line, with the arguments of the call appended. Creates the folder if it
 * is missing.
 */
export function writeCommand(folder: string, name: string, line: readonly string[]): void {
  const quoted = line.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 });
}
