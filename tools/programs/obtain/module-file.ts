import { cpSync, existsSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { startProcess } from "../../process/index.ts";
import { cacheFolder, cacheKeyOf } from "./cache.ts";

/** A file or folder of a third-party Go module; nothing is built. */
export interface ModuleFile {
  readonly name: string;
  /** Folder of a go.mod that requires the module, and of the go.sum with its hash. */
  readonly folder: string;
  readonly module: string;
  /** Path of the file or folder in the module. */
  readonly path: string;
  /** The size of the download, for the progress line. */
  readonly size: string;
}

/**
 * Returns a function that downloads the module with Go when the file or folder is not in the cache, and resolves to the
 * path of the file or folder.
 *
 * The function rejects when Go is missing or cannot download the module, with the end of Go's output.
 */
export function fromModule(wanted: ModuleFile): (say: (line: string) => void) => Promise<string> {
  const { name, folder, module, path, size } = wanted;
  return async (say) => {
    const files = readdirSync(folder).map((file) => join(folder, file));
    const kept = join(cacheFolder(), `${name}-${cacheKeyOf({ files, settings: [module, path] })}`);
    if (existsSync(kept)) return kept;
    say(`${name}: downloading with Go, ${size}`);
    const go = await startProcess("go", ["mod", "download", "-json", module], {
      name: "go",
      cwd: folder,
      env: { GOFLAGS: undefined },
    }).catch((cause: unknown) => {
      throw new Error(`go is missing: install Go 1.26 or newer to download ${name}`, { cause });
    });
    const { code } = await go.ended();
    if (code !== 0) throw new Error(`go mod download ${module} failed:\n${go.tail()}`);
    const { Dir } = JSON.parse(go.output()) as { readonly Dir: string };
    const partial = `${kept}.${process.pid}`;
    cpSync(join(Dir, path), partial, { recursive: true });
    renameSync(partial, kept);
    return kept;
  };
}
