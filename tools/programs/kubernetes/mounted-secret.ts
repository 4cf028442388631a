/** Simulates a Secret mounted by the kubelet: files are links through the link `..data`, which each change replaces. */
import { existsSync, mkdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Writes files into the mounted folder atomically: readers find either all former files or all new ones. */
export function mountFiles(folder: string, files: Readonly<Record<string, string>>): void {
  const data = join(folder, "..data");
  const before = existsSync(data) ? readlinkSync(data) : null;
  const name = `..${(Number(before?.slice(2)) || 0) + 1}`;
  mkdirSync(join(folder, name), { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, name, file), text, { mode: 0o600 });
  symlinkSync(name, `${data}_tmp`);
  renameSync(`${data}_tmp`, data);
  if (before !== null) rmSync(join(folder, before), { recursive: true });
  else for (const file of Object.keys(files)) symlinkSync(join("..data", file), join(folder, file));
}
