import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startProcess } from "../process/index.ts";
import { cacheFolder, keyOf } from "./cache.ts";
import { oneAtATime } from "./one-at-a-time.ts";

const source = join(import.meta.dirname, "../cluster");
const version = "v1.36.3";
const stamp = "k8s.io/component-base/version";
const [, major, minor] = version.match(/^v(\d+)\.(\d+)/) ?? [];

/** Fixed: another value of -trimpath, CGO_ENABLED or an -X misses Go's whole build cache. */
const flags = [
  "-trimpath",
  "-buildvcs=false",
  "-ldflags",
  [
    "-s -w",
    `-X ${stamp}.gitVersion=${version} -X ${stamp}.gitMajor=${major} -X ${stamp}.gitMinor=${minor}`,
    `-X ${stamp}.gitTreeState=clean -X ${stamp}.gitCommit=${"0".repeat(40)}`,
    `-X ${stamp}.buildDate=2026-01-01T00:00:00Z`,
  ].join(" "),
];

/** Where the binary is, once it has been built from the sources as they are now. */
export function kubePath(): string {
  const files = ["main.go", "go.mod", "go.sum"].map((name) => join(source, name));
  const key = keyOf({ files, settings: [...flags, process.platform, process.arch] });
  return join(cacheFolder(), `kube-${key}`);
}

/**
 * The path of the control plane's binary: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl.
 * Builds it when the cache does not have it.
 *
 * @param say receives the lines of progress, the first before the build begins and then one every 15 s.
 * @throws Error when Go is missing or the build fails, with the end of Go's output.
 */
export async function kube(say: (line: string) => void): Promise<string> {
  const path = kubePath();
  if (existsSync(path)) return path;
  const build = async () => {
    if (!existsSync(path)) await compile(path, say);
    return path;
  };
  return oneAtATime(path, build, () => say("kube: another process is building it, waiting"));
}

async function compile(path: string, say: (line: string) => void): Promise<void> {
  say(`kube: building the control plane of Kubernetes ${version} with Go, about 7 minutes the first time (two cores)`);
  const began = performance.now();
  const elapsed = () => `${Math.round((performance.now() - began) / 1000)} s`;
  const partial = `${path}.${process.pid}`;
  const go = await startProcess("go", ["build", "-v", ...flags, "-o", partial, "."], {
    name: "go",
    cwd: source,
    env: { CGO_ENABLED: "0", GOFLAGS: undefined },
  }).catch((cause: unknown) => {
    throw new Error("go is missing: install Go 1.26 or newer, it builds the control plane", { cause });
  });
  // With -v every package that is fetched or compiled is one line.
  const packages = () => go.output().split("\n").length - 1;
  const timer = setInterval(() => say(`kube: ${elapsed()}, ${packages()} packages fetched or compiled`), 15_000);
  try {
    const { code } = await go.ended();
    if (code !== 0) throw new Error(`go build of test/cluster failed:\n${go.tail()}`);
    renameSync(partial, path);
  } finally {
    clearInterval(timer);
    rmSync(partial, { force: true });
  }
  say(`kube: built in ${elapsed()}, kept in the cache as ${path}`);
}
