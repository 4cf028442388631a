/**
 * Builds each workspace: emits its TypeScript as JavaScript into its folder `build`. Node can also run the sources, but
 * then every thread strips types when it starts. The memory that this takes is not released: about 30 MB for the first
 * thread and 20 MB for each further thread.
 *
 * Built workspaces resolve each other by the condition `built` of their `exports`. The first line of each built command
 * sets this condition.
 */
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type CompilerOptions, ModuleKind, ScriptTarget, transpileModule, version } from "typescript";
import manifest from "../../package.json" with { type: "json" };

const root = join(import.meta.dirname, "../..");

/**
 * The workspaces that are imported or started at run time. Pulumi runs its program from the sources, and the console runs
 * in browsers (console.ts).
 */
const workspaces = manifest.workspaces.filter((workspace) => !["pulumi", "gateway/console"].includes(workspace));

/**
 * A JSON file with the state in which the last `emitAll` left each output, by the output's path. Emitting everything
 * takes 6 s of processor time, and most files have not changed.
 */
const statesFile = join(root, "node_modules/.cache/sluice/emitted.json");

/**
 * Emits every workspace. A file is left as it is if neither it nor its source has changed since it was emitted. Files
 * without a source are removed.
 */
export function emitAll(): void {
  const before = readStates();
  const states: Record<string, string> = {};
  for (const workspace of workspaces) {
    const to = join(root, workspace, "build");
    const sources = sourcesOf(join(root, workspace));
    for (const path of filesIn(to)) if (!sources.has(path)) rmSync(join(to, path));
    for (const [path, source] of sources) {
      const place = join(to, path);
      if (!existsSync(place) || before[place] !== stateOf(source, place)) emit(builtForm(source), place);
      states[place] = stateOf(source, place);
    }
  }
  mkdirSync(dirname(statesFile), { recursive: true });
  writeFileSync(statesFile, JSON.stringify(states));
}

/** The content of `statesFile`; empty if there is no such file, or it cannot be read. */
function readStates(): Readonly<Record<string, string>> {
  try {
    return JSON.parse(readFileSync(statesFile, "utf8"));
  } catch {
    return {};
  }
}

/** A hash of all that decides an output, and of the output. */
const stateOf = (source: string, place: string): string =>
  createHash("sha256")
    .update(`${form}\n`)
    .update(readFileSync(source))
    .update("\n")
    .update(readFileSync(place))
    .digest("base64");

/** The output paths in a workspace's folder `build`, with their sources. */
export function sourcesOf(folder: string): ReadonlyMap<string, string> {
  const src = join(folder, "src");
  const from = existsSync(src) ? src : folder;
  const sources = filesIn(from).filter(
    (path) => path.endsWith(".ts") && !/(\.test|\.d)\.ts$|^(build|node_modules)\//.test(path),
  );
  return new Map(sources.toSorted().map((path) => [path.replace(/\.ts$/, ".js"), join(from, path)]));
}

const filesIn = (folder: string): readonly string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => statSync(join(folder, path)).isFile())
    : [];

function emit(script: string, place: string): void {
  if (existsSync(place) && readFileSync(place, "utf8") === script) return;
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(place, script);
  if (script.startsWith("#!")) chmodSync(place, 0o755);
}

const compilerOptions: CompilerOptions = {
  target: ScriptTarget.ESNext,
  module: ModuleKind.ESNext,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
  // Node keeps the text of a running program in memory.
  removeComments: true,
};

/** The text of this file, and the version of the compiler. */
const form = `${version}\n${readFileSync(import.meta.filename, "utf8")}`;

/**
 * A source as JavaScript. A first line that starts Node gets the condition `built`.
 *
 * @throws Error for a text that is not TypeScript. Types are not checked: `npm run check` does that.
 */
export function builtForm(fileName: string): string {
  const { outputText, diagnostics = [] } = transpileModule(readFileSync(fileName, "utf8"), {
    fileName,
    reportDiagnostics: true,
    compilerOptions,
  });
  const [fault] = diagnostics;
  if (fault) throw new Error(`${fileName}: ${String(fault.messageText)}`);
  return outputText.replace(/^(#!.*\bnode)\b/, "$1 --conditions=built").replace(/^#!(\S+env) (?!-S )/, "#!$1 -S ");
}
