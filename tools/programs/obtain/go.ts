import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { startProcess } from "../../process/index.ts";
import { cacheFolder, cacheKeyOf } from "./cache.ts";
import { oneAtATime } from "./one-at-a-time.ts";

/** A program that Go builds from a module of this repository. */
export interface GoTool {
  readonly name: string;
  /** Folder of the module: go.mod and go.sum, and main.go when `package` is not set. */
  readonly module: string;
  /** The program's package in another module, which the go.mod names as a `tool`. Default: the module itself. */
  readonly package?: string;
  /** Linker flags, in addition to those that reduce the size. */
  readonly ldflags?: readonly string[];
  /** Build tags, which leave out or add parts of the program. */
  readonly tags?: readonly string[];
  /** A description with the duration of the build, for the progress line. */
  readonly what: string;
}

/**
 * Returns a function that builds a program when it is not in the cache, and resolves to its path. Only one build runs
 * at a time on the machine, because each uses all cores and up to 2 GB.
 *
 * The function rejects when Go is missing or the build fails, with the end of Go's output. It calls `say` with lines of
 * progress, before the build begins and then every 15 s.
 */
export function fromGo(wanted: GoTool): (say: (line: string) => void) => Promise<string> {
  return async (say) => {
    const path = pathOf(wanted);
    if (existsSync(path)) return path;
    const build = async () => {
      if (!existsSync(path)) await compile(wanted, path, say);
      return path;
    };
    return oneAtATime("go build", build, () => say(`${wanted.name}: another build is under way, waiting`));
  };
}

/** Keep these values: with other flags or another CGO_ENABLED Go builds again what its build cache already has. */
function flagsOf({ ldflags = [], tags = [] }: GoTool): readonly string[] {
  const selected = tags.length === 0 ? [] : ["-tags", tags.join(",")];
  return ["-trimpath", "-buildvcs=false", "-ldflags", ["-s -w", ...ldflags].join(" "), ...selected];
}

/** The program's path in the cache for the current sources. */
function pathOf(wanted: GoTool): string {
  const sources = readdirSync(wanted.module).filter((name) => /^go\.(mod|sum)$|\.go$/.test(name));
  const files = sources.map((name) => join(wanted.module, name));
  const packages = wanted.package === undefined ? [] : [wanted.package];
  const key = cacheKeyOf({ files, settings: [...flagsOf(wanted), process.platform, process.arch, ...packages] });
  return join(cacheFolder(), `${wanted.name}-${key}`);
}

async function compile(wanted: GoTool, path: string, say: (line: string) => void): Promise<void> {
  const { name, module, what } = wanted;
  say(`${name}: Go builds ${what}`);
  const began = performance.now();
  const elapsed = () => `${Math.round((performance.now() - began) / 1000)} s`;
  const partial = `${path}.${process.pid}`;
  const go = await startProcess("go", ["build", "-v", ...flagsOf(wanted), "-o", partial, wanted.package ?? "."], {
    name: "go",
    cwd: module,
    env: { CGO_ENABLED: "0", GOFLAGS: undefined },
  }).catch((cause: unknown) => {
    throw new Error(`go is missing: install Go 1.26 or newer to build ${name}`, { cause });
  });
  // With -v Go prints one line for every package that it downloads or compiles.
  const packages = () => go.output().split("\n").length - 1;
  const timer = setInterval(() => say(`${name}: ${elapsed()}, ${packages()} packages fetched or compiled`), 15_000);
  try {
    const { code } = await go.ended();
    if (code !== 0) throw new Error(`go build of ${basename(module)} failed:\n${go.tail()}`);
    renameSync(partial, path);
  } finally {
    clearInterval(timer);
    rmSync(partial, { force: true });
  }
  say(`${name}: built in ${elapsed()}, kept in the cache as ${path}`);
}
