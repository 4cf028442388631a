import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Writes an executable that runs the command line `line` with its own arguments appended. Creates the folder if it
 * is missing.
 */
export function writeCommand(folder: string, name: string, line: readonly string[]): void {
  const quoted = line.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 });
}
