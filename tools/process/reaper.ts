import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * A shell that outlives this process briefly: its standard input closes when this process ends in any way. It then
 * kills the process groups and removes the folders on its list. The list is sent as one line per entry and per
 * removal.
 */
const script = `
trap '' HUP INT TERM
groups=' '; folders=
while IFS=' ' read -r what value signal; do
  case $what in
    start) groups="$groups$value:$signal " ;;
    ended) groups=$(printf %s "$groups" | sed "s/ $value:[A-Z]* / /") ;;
    folder) folders="$folders
$value" ;;
  esac
done
[ "$groups" = ' ' ] || {
  for group in $groups; do kill -s "\${group#*:}" -- "-\${group%%:*}" 2>/dev/null; done
  sleep 1
  for group in $groups; do kill -s KILL -- "-\${group%%:*}" 2>/dev/null; done
}
printf '%s\\n' "$folders" | while read -r folder; do [ -z "$folder" ] || rm -rf -- "$folder"; done
`;

let reaper: ChildProcess | undefined;

function tell(line: string): void {
  if (reaper === undefined) {
    reaper = spawn("sh", ["-c", script], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
    reaper.unref();
    reaper.stdin?.on("error", () => {});
    // The pipe would keep the event loop alive, as a socket does.
    (reaper.stdin as Socket | null)?.unref();
  }
  reaper.stdin?.write(`${line}\n`);
}

/** Registers a process group: if this process ends first, the group gets this signal and, after a second, KILL. */
export function endWithUs(group: number, signal: NodeJS.Signals): void {
  tell(`start ${group} ${signal.replace(/^SIG/, "")}`);
}

/** Unregisters a process group that has ended, because its id may be reused. */
export function forgetGroup(group: number): void {
  tell(`ended ${group}`);
}

/** A new empty folder for the state of one run. `remove` deletes it, and so does the end of this process. */
export function temporaryFolder(name: string): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), `sluice-${name}-`));
  tell(`folder ${path}`);
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
}
