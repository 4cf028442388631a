import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Writes a program into a folder, which it makes: one that becomes this command line and passes on what it is told. */
export function writeCommand(folder: string, name: string, line: readonly string[]): void {
  const quoted = line.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 });
}
