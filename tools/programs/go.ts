import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { startProcess } from "../process/index.ts";
import { cacheFolder, keyOf } from "./cache.ts";
import { oneAtATime } from "./one-at-a-time.ts";

/** A program that Go builds from a module of ours. */
export interface GoTool {
  readonly name: string;
  /** Folder of the module: go.mod and go.sum, and main.go when no package is named. */
  readonly module: string;
  /** The package of another module that is the program, a `tool` of our go.mod. Default: our own module. */
  readonly package?: string;
  /** For the linker. Default: only what makes the program small. */
  readonly ldflags?: readonly string[];
  /** What is built and how long it takes, for the line of progress before it. */
  readonly what: string;
}

/**
 * Builds a program when the cache does not have it, and answers its path. One build at a time on the whole machine:
 * a single one takes all cores and up to 2 GB.
 *
 * @returns a function that throws an Error when Go is missing or the build fails, with the end of Go's output. It
 * tells `say` lines of progress, the first before the build begins and then one every 15 s.
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

/** Fixed: another value of -trimpath, CGO_ENABLED or an -X misses Go's whole build cache. */
function flagsOf({ ldflags = [] }: GoTool): readonly string[] {
  return ["-trimpath", "-buildvcs=false", "-ldflags", ["-s -w", ...ldflags].join(" ")];
}

/** Where the program is, once it has been built from the sources as they are now. */
function pathOf(wanted: GoTool): string {
  const sources = readdirSync(wanted.module).filter((name) => /^go\.(mod|sum)$|\.go$/.test(name));
  const files = sources.map((name) => join(wanted.module, name));
  const packages = wanted.package === undefined ? [] : [wanted.package];
  const key = keyOf({ files, settings: [...flagsOf(wanted), process.platform, process.arch, ...packages] });
  return join(cacheFolder(), `${wanted.name}-${key}`);
}

async function compile(wanted: GoTool, path: string, say: (line: string) => void): Promise<void> {
  const { name, module, what } = wanted;
  say(`${name}: building ${what}`);
  const began = performance.now();
  const elapsed = () => `${Math.round((performance.now() - began) / 1000)} s`;
  const partial = `${path}.${process.pid}`;
  const go = await startProcess("go", ["build", "-v", ...flagsOf(wanted), "-o", partial, wanted.package ?? "."], {
    name: "go",
    cwd: module,
    env: { CGO_ENABLED: "0", GOFLAGS: undefined },
  }).catch((cause: unknown) => {
    throw new Error(`go is missing: install Go 1.26 or newer, it builds ${name}`, { cause });
  });
  // With -v every package that is fetched or compiled is one line.
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
