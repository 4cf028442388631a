/**
 * Processes that run several test files one after the other. Starting a process and loading the modules under test takes
 * longer than most unit tests, so files share a process unless they change its state.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { repositoryRoot } from "../check/source-files.ts";

/** Test files that run in one process. */
export interface SharedProcess {
  /** The module that imports the files, relative to the root. */
  readonly entry: string;
  readonly files: readonly string[];
}

/** Folders whose files share processes although they have subfolders of different subjects: each has few test files. */
const smallFolders: readonly string[] = ["pulumi", "tools"];

/** The folder whose files share processes, so that a file can affect only the tests of related files. */
function folderOf(file: string): string {
  const parts = file.split("/");
  if (smallFolders.includes(parts[0] ?? "")) return parts[0] ?? "";
  return parts.slice(0, file.startsWith("gateway/src/") ? 3 : 2).join("/");
}

/** Maximum number of files of a process. A process is one unit of work for the runner, like a file of its own. */
const MAX_FILES = 50;

/**
 * What a file must not contain to share a process: registered plugins are seen by every file, environment, signals and
 * exit codes belong to the process, and memory is measured for the whole process.
 */
const changesProcess =
  /\bregisterPlugins\(|\bprocess\.(?:chdir|emit|env|exit|exitCode|on|once)\b|"node:(?:child_process|worker_threads)"|\bheapUsed\b|\bleaksNothing\b/;

/** In a shared process, a test is counted for the file that defines it, so a file must define a test. */
const definesTest = /\b(?:it|test)\(/;

export const mayShareProcess = (text: string): boolean => definesTest.test(text) && !changesProcess.test(text);

/**
 * Writes the entry modules below `folder`. Files that share no process are left out. The tests of each file are a suite,
 * so that the file's hooks run only for its own tests.
 */
export function shareProcesses(files: readonly string[], folder: string): readonly SharedProcess[] {
  const sharing = files.filter((file) => mayShareProcess(readFileSync(join(repositoryRoot, file), "utf8"))).toSorted();
  mkdirSync(folder, { recursive: true });
  const shared: SharedProcess[] = [];
  for (const [name, together] of Map.groupBy(sharing, folderOf)) {
    for (let at = 0; at < together.length; at += MAX_FILES) {
      const own = together.slice(at, at + MAX_FILES);
      const entry = join(folder, `${name.replaceAll("/", "-")}-${at / MAX_FILES + 1}.mjs`);
      const suites = own.map((file) => {
        const url = pathToFileURL(join(repositoryRoot, file)).href;
        return `describe(${JSON.stringify(file)}, () => import(${JSON.stringify(url)}));\n`;
      });
      writeFileSync(entry, ['import { describe } from "node:test";\n', ...suites].join(""));
      shared.push({ entry: relative(repositoryRoot, entry), files: own });
    }
  }
  return shared;
}
