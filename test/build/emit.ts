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
  const [from, to] = [join(folder, "src"), join(folder, "build")];
  const sources = filesIn(from).filter((path) => path.endsWith(".ts") && !/(\.test|\.d)\.ts$/.test(path));
  const emitted = new Map(sources.map((path) => [path.replace(/\.ts$/, ".js"), join(from, path)]));
  for (const path of filesIn(to)) if (!emitted.has(path)) rmSync(join(to, path));
  for (const [path, source] of emitted) emit(source, join(to, path));
}

const filesIn = (folder: string): readonly string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => statSync(join(folder, path)).isFile())
    : [];

function emit(source: string, place: string): void {
  const script = javaScript(readFileSync(source, "utf8"), source);
  if (existsSync(place) && readFileSync(place, "utf8") === script) return;
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(place, script);
  if (script.startsWith("#!")) chmodSync(place, 0o755);
}

/** @throws Error for a text that is no TypeScript. Types are not looked at: that is `npm run check`. */
function javaScript(text: string, fileName: string): string {
  const { outputText, diagnostics = [] } = transpileModule(text, {
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
