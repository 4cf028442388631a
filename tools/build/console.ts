/**
 * Builds the web console (gateway/console) with Vite into its folder `build`, which the admin listener serves, and
 * compresses each file. Browsers cannot run the sources, unlike Node, so the build precedes every command that runs or
 * packs the admin API. `npm start`, `npm run build` and the build of the images call `buildConsole`; the launcher of
 * the command `sluice` runs this file as a program.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { filesBelow, hashOfFiles } from "./files.ts";

const root = join(import.meta.dirname, "../..");
const folder = join(root, "gateway/console");
const output = join(folder, "build");

/** Holds the hash of the sources of the last build. */
const stamp = join(output, ".sources");

/**
 * Does nothing if the sources are unchanged since the last build.
 *
 * @throws Error with Vite's output when the sources cannot be built.
 */
export function buildConsole(): void {
  const wanted = hashOfSources();
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  try {
    execFileSync(process.execPath, [join(root, "node_modules/vite/bin/vite.js"), "build", "--logLevel", "warn"], {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  } catch (error) {
    throw new Error(`the console cannot be built: ${(error as { readonly stderr?: string }).stderr ?? error}`);
  }
  // Preact's licence requires that every copy contains the licence text, but the minifier removes comments.
  writeFileSync(join(output, "licenses.txt"), readFileSync(join(root, "node_modules/preact/LICENSE")));
  for (const path of filesBelow(output)) {
    const bytes = readFileSync(path);
    writeFileSync(`${path}.br`, brotliCompressSync(bytes));
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  }
  writeFileSync(stamp, wanted);
}

function hashOfSources(): string {
  const sources = ["index.html", "vite.config.ts", "tsconfig.json", "package.json"].map((name) => join(folder, name));
  const more = ["src", "public"].flatMap((name) => filesBelow(join(folder, name)));
  return hashOfFiles(root, [...sources, join(root, "package-lock.json"), ...more]);
}

/** The files of the built console, by path below gateway/console/build. */
export function consoleFiles(): ReadonlyMap<string, string> {
  buildConsole();
  return new Map(filesBelow(output).map((path) => [path.slice(output.length + 1), path]));
}

if (import.meta.main) buildConsole();
