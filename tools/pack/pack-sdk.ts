/**
 * Packs `@sluice/plugin-sdk` as npm would publish it: JavaScript with types, and the gateway of its test harness as
 * bundled packages. In the repository, workspaces are TypeScript, which Node does not run below `node_modules`.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { createProgram, ModuleKind, ModuleResolutionKind, ScriptTarget } from "typescript";
import model from "../../crds/model/package.json" with { type: "json" };
import gateway from "../../gateway/package.json" with { type: "json" };
import sdk from "../../gateway/plugin-sdk/package.json" with { type: "json" };
import plugins from "../../gateway/plugins/package.json" with { type: "json" };
import { buildPrograms } from "../build/programs.ts";
import { npmPack } from "./npm-pack.ts";

const root = resolve(import.meta.dirname, "../..");
const source = join(root, "gateway/plugin-sdk");

/** The workspaces that the test harness needs, and the modules of each that other packages import. */
const bundled = [
  { folder: "gateway", modules: { "./plugin-harness": "plugin-harness/index" } },
  { folder: "gateway/plugins", modules: { ".": "index", "./schemas": "schemas" } },
  { folder: "crds/model", modules: { ".": "index", "./serving": "serving" } },
] as const;

/** Third-party packages that the bundled code imports when it runs. */
const dependencies = {
  ...sdk.dependencies,
  ...Object.fromEntries(Object.entries(plugins.dependencies).filter(([name]) => !name.startsWith("@sluice/"))),
  ajv: model.dependencies.ajv,
  yaml: model.dependencies.yaml,
  "prom-client": gateway.dependencies["prom-client"],
};

/** The module `@sluice/plugin-sdk/testing`. */
const TESTING = 'export * from "@sluice/gateway/plugin-harness";\n';

/** Writes the package into the folder `to`, which is created, and returns the path of the tarball. */
export async function packSdk(to: string): Promise<string> {
  await buildPrograms();
  const stage = join(to, "sdk");
  rmSync(stage, { recursive: true, force: true });
  copyBuild(source, stage);
  cpSync(join(root, "LICENSE"), join(stage, "LICENSE"));
  emitTypes(join(source, "src"), ["index.ts"], join(stage, "build"));
  const names = bundled.map(({ folder, modules }) => bundle(folder, modules, stage));
  const harness = join(stage, "node_modules/@sluice/gateway/build/plugin-harness");
  emitTypes(join(root, "gateway/src/plugin-harness"), ["index.ts"], harness);
  for (const file of ["testing.js", "testing.d.ts"]) writeFileSync(join(stage, "build", file), TESTING);
  const moduleAt = (file: string) => ({ types: `./build/${file}.d.ts`, default: `./build/${file}.js` });
  write(join(stage, "package.json"), {
    name: sdk.name,
    version: sdk.version,
    license: sdk.license,
    description: "Everything that a plugin for the API gateway Sluice may use, and a gateway for its tests.",
    type: "module",
    exports: { ".": moduleAt("index"), "./testing": moduleAt("testing") },
    files: ["build"],
    dependencies: { ...dependencies, ...Object.fromEntries(names.map((name) => [name, sdk.version])) },
    bundleDependencies: names,
  });
  try {
    return await npmPack(stage, to);
  } finally {
    rmSync(stage, { recursive: true });
  }
}

/** Copies the built form of a workspace into `node_modules` of the package, and returns the workspace's name. */
function bundle(folder: string, modules: Readonly<Record<string, string>>, stage: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as typeof sdk;
  const target = join(stage, "node_modules", name);
  copyBuild(join(root, folder), target);
  const exports = Object.fromEntries(Object.entries(modules).map(([path, file]) => [path, `./build/${file}.js`]));
  write(join(target, "package.json"), { name, version, license, type: "module", exports });
  return name;
}

/** Copies the built form of a workspace. */
function copyBuild(workspace: string, to: string): void {
  cpSync(join(workspace, "build"), join(to, "build"), { recursive: true });
}

function write(file: string, content: object): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
}

/** Emits the declarations of the modules in `src` that `entries` need. In them, imports name `.js` files. */
function emitTypes(src: string, entries: readonly string[], to: string): void {
  const program = createProgram(
    entries.map((file) => join(src, file)),
    {
      target: ScriptTarget.ESNext,
      module: ModuleKind.NodeNext,
      moduleResolution: ModuleResolutionKind.NodeNext,
      types: ["node"],
      typeRoots: [join(root, "node_modules/@types")],
      strict: true,
      allowImportingTsExtensions: true,
      resolveJsonModule: true,
      skipLibCheck: true,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: src,
      outDir: to,
    },
  );
  for (const file of program.getSourceFiles()) {
    if (!file.fileName.startsWith(src)) continue;
    program.emit(file, (path, text) => {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text.replace(/(from "\.[^"]*)\.ts"/g, '$1.js"'));
    });
  }
}
