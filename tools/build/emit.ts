/**
 * Builds each workspace: emits its TypeScript as JavaScript into its folder `build`. Node can also run the sources, but
 * then every thread strips types when it starts. The memory that this takes is not released: about 30 MB for the first
 * thread and 20 MB for each further thread.
 *
 * Built workspaces resolve each other by the condition `built` of their `exports`. The first line of each built command
 * sets this condition.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ModuleKind, ScriptTarget, transpileModule } from "typescript";
import manifest from "../../package.json" with { type: "json" };

const root = join(import.meta.dirname, "../..");

/**
 * The workspaces that are imported or started at run time. Pulumi runs its program from the sources, and the console runs
 * in browsers (console.ts).
 */
const workspaces = manifest.workspaces.filter((workspace) => !["pulumi", "gateway/console"].includes(workspace));

/** Emits every workspace. Unchanged files are not rewritten; files without a source are removed. */
export function emitAll(): void {
  for (const workspace of workspaces) emitWorkspace(join(root, workspace));
}

function emitWorkspace(folder: string): void {
  const to = join(folder, "build");
  const sources = sourcesOf(folder);
  for (const path of filesIn(to)) if (!sources.has(path)) rmSync(join(to, path));
  for (const [path, source] of sources) emit(builtForm(source), join(to, path));
}

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

/**
 * A source as JavaScript. A first line that starts Node gets the condition `built`.
 *
 * @throws Error for a text that is not TypeScript. Types are not checked: `npm run check` does that.
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
      // Node keeps the text of a running program in memory.
      removeComments: true,
    },
  });
  const [fault] = diagnostics;
  if (fault) throw new Error(`${fileName}: ${String(fault.messageText)}`);
  return outputText.replace(/^(#!.*\bnode)\b/, "$1 --conditions=built").replace(/^#!(\S+env) (?!-S )/, "#!$1 -S ");
}
