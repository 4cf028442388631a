/**
 * Builds the workspaces that run in production: Rolldown bundles each into a few JavaScript files in its folder `build`.
 * Node can also run the sources, but then every thread loads several hundred modules and strips their types, which takes
 * twice the processor time and about 20 MB that are not released.
 *
 * Packages stay outside the bundles, also the other workspaces: plugins of users import the plugin SDK too, and a
 * workspace may depend on another version of a package. Built workspaces resolve each other by the condition `built` of
 * their `exports`, which the first line of each built command sets.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { filesBelow, hashOfFiles } from "./files.ts";

const root = join(import.meta.dirname, "../..");

/**
 * By workspace, the modules that programs start or other workspaces import, by their paths in the folder `build`. Worker
 * threads and child processes are started by the name of a file beside the file that starts them.
 */
const entries = {
  "crds/model": {
    index: "src/index.ts",
    "command-line/index": "src/command-line/index.ts",
    serving: "src/serving.ts",
  },
  "crds/client": { index: "src/index.ts", "directory/files/atomic": "src/directory/files/atomic.ts" },
  "crds/acme": { index: "src/index.ts", options: "src/options.ts" },
  "gateway/plugin-sdk": { index: "src/index.ts" },
  "gateway/plugins": {
    index: "index.ts",
    schemas: "schemas.ts",
    "hash-thread-main": "basic-auth/hash-thread-main.ts",
  },
  gateway: {
    main: "src/main.ts",
    "worker-thread-main": "src/workers/threads/worker-thread-main.ts",
    "reader-process-main": "src/sources/file/reader-process-main.ts",
    "embedded-main": "src/database/embedded/embedded-main.ts",
    "plugin-harness/index": "src/plugin-harness/index.ts",
  },
  operator: { main: "src/main.ts" },
  "user-api": { main: "src/main.ts", "pglite-main": "src/store/pglite-main.ts" },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

/** A workspace that is built. Pulumi runs its program from the sources, and the console runs in browsers (console.ts). */
export type BuiltWorkspace = keyof typeof entries;

/** A workspace with a command. */
export type ProgramWorkspace = "gateway" | "operator" | "user-api";

export const builtWorkspaces = Object.keys(entries) as readonly BuiltWorkspace[];

const buildFolder = (workspace: BuiltWorkspace): string => join(root, workspace, "build");

/** Holds the hash of the sources of the last build. */
const stamp = join(buildFolder("gateway"), ".sources");

/**
 * Does nothing if the sources are unchanged since the last build.
 *
 * @throws Error with Rolldown's messages when the sources cannot be built. Types are not checked: `npm run check` does
 *   that.
 */
export async function buildPrograms(): Promise<void> {
  const wanted = hashOfSources();
  const isBuilt = builtWorkspaces.every((workspace) => existsSync(buildFolder(workspace)));
  if (isBuilt && existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  // If a build fails, some workspaces may be those of other sources than before.
  rmSync(stamp, { force: true });
  for (const workspace of builtWorkspaces) await bundle(workspace);
  writeFileSync(stamp, wanted);
}

/** Builds the programs if necessary, and resolves to the path of the workspace's command, which is executable. */
export async function builtProgram(workspace: ProgramWorkspace): Promise<string> {
  await buildPrograms();
  return join(buildFolder(workspace), "main.js");
}

/** The paths of the files of a built workspace below its folder `build`. `buildPrograms` must have been called. */
export const builtFiles = (workspace: BuiltWorkspace): readonly string[] =>
  filesBelow(buildFolder(workspace))
    .filter((path) => path.endsWith(".js"))
    .map((path) => relative(buildFolder(workspace), path));

/** Inputs of the build: also tests' helpers, so that no list of the modules is needed. */
function hashOfSources(): string {
  const folders = ["gateway/src", "gateway/plugins", "gateway/plugin-sdk/src", "crds", "operator/src", "user-api/src"];
  const isSource = (path: string) => /\.(ts|json)$/.test(path) && !/\.test\.ts$|\/(node_modules|build)\//.test(path);
  const sources = folders.flatMap((folder) => filesBelow(join(root, folder))).filter(isSource);
  const manifests = builtWorkspaces.map((workspace) => join(root, workspace, "package.json"));
  const tools = filesBelow(import.meta.dirname);
  return hashOfFiles(root, [...sources, ...manifests, ...tools, join(root, "package-lock.json")]);
}

/**
 * Rolldown makes an export of every member of a JSON module: of `private` in a package.json too, which no module can
 * export under this name.
 */
const jsonAsText = {
  name: "json-as-text",
  load: (id: string) =>
    id.endsWith(".json") ? { code: `export default ${readFileSync(id, "utf8")}`, moduleType: "js" as const } : null,
};

async function bundle(workspace: BuiltWorkspace): Promise<void> {
  // Only a build needs Rolldown.
  const { rolldown } = await import("rolldown");
  const bundled = await rolldown({
    cwd: join(root, workspace),
    input: entries[workspace],
    platform: "node",
    external: /^[^./]/,
    plugins: [jsonAsText],
  });
  const { output } = await bundled.generate({ format: "esm", comments: false, keepNames: true });
  await bundled.close();
  const partial = join(root, "node_modules/.cache/sluice", `build-${process.pid}`);
  for (const file of output) {
    if (file.type !== "chunk")
      throw new Error(`the build of ${workspace} has a file that is no program: ${file.fileName}`);
    const place = join(partial, file.fileName);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, builtFirstLine(file.code));
    if (file.code.startsWith("#!")) chmodSync(place, 0o755);
  }
  rmSync(buildFolder(workspace), { recursive: true, force: true });
  try {
    renameSync(partial, buildFolder(workspace));
  } catch (error) {
    // Another process has built the same meanwhile.
    rmSync(partial, { recursive: true });
    if (!existsSync(join(buildFolder(workspace), output[0].fileName))) throw error;
  }
}

/** Adds the condition `built` to a first line that starts Node. */
export const builtFirstLine = (text: string): string =>
  text.replace(/^(#!.*\bnode)\b/, "$1 --conditions=built").replace(/^#!(\S+env) (?!-S )/, "#!$1 -S ");
