/**
 * The built form: each workspace's TypeScript as JavaScript in its folder `build`, for those who run Sluice rather than
 * change it. Node can run the sources themselves, but then every thread strips types when it starts, and what that takes
 * of memory stays taken: about 30 MB for the first thread and 20 MB for each other one.
 *
 * Packages of the repository find each other's built form by the condition `built` of their `exports`, which the first
 * line of each built command asks for.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ModuleKind, ScriptTarget, transpileModule } from "typescript";
import manifest from "../../package.json" with { type: "json" };

const root = join(import.meta.dirname, "../..");

/** The folders of the workspaces that have sources; stacks and charts are run where they stand. */
const workspaces = manifest.workspaces.filter((workspace) => existsSync(join(root, workspace, "src")));

/** Emits every workspace. What is there already and would be the same stays as it is; what has no source any more goes. */
export function emitAll(): void {
  for (const workspace of workspaces) emitWorkspace(join(root, workspace));
}

function emitWorkspace(folder: string): void {
  const to = join(folder, "build");
  const sources = sourcesOf(folder);
  for (const path of filesIn(to)) if (!sources.has(path)) rmSync(join(to, path));
  for (const [path, source] of sources) emit(builtForm(source), join(to, path));
}

/** The paths that a workspace's programs have in its folder `build`, with the sources that they are made of. */
export function sourcesOf(folder: string): ReadonlyMap<string, string> {
  const from = join(folder, "src");
  const sources = filesIn(from).filter((path) => path.endsWith(".ts") && !/(\.test|\.d)\.ts$/.test(path));
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

/**
 * A source as JavaScript. A first line that names Node asks for the built form of what it imports.
 *
 * @throws Error for a text that is no TypeScript. Types are not looked at: that is `npm run check`.
 */
export function builtForm(fileName: string): string {
  const { outputText, diagnostics = [] } = transpileModule(readFileSync(fileName, "utf8"), {
    fileName,
    reportDiagnostics: true,
    compilerOptions: {
      target: ScriptTarget.ESNext,
      module: ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true,
      // Texts of programs stay in memory with them.
      removeComments: true,
    },
  });
  const [fault] = diagnostics;
  if (fault) throw new Error(`${fileName}: ${String(fault.messageText)}`);
  return outputText.replace(/^(#!.*\bnode)\b/, "$1 --conditions=built").replace(/^#!(\S+env) (?!-S )/, "#!$1 -S ");
}
