import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
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
  const go = spawn("go", ["build", "-v", ...flags, "-o", partial, "."], {
    cwd: source,
    env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  // With -v every compiled package is one line.
  const lines: string[] = [];
  createInterface(go.stderr).on("line", (line) => lines.push(line));
  const timer = setInterval(() => say(`kube: ${elapsed()}, ${lines.length} packages fetched or compiled`), 15_000);
  try {
    const [code] = await once(go, "close").catch((error: Error) => {
      throw new Error(`go is missing (${error.message}): install Go 1.26 or newer, it builds the control plane`);
    });
    if (code !== 0) throw new Error(`go build of test/cluster failed:\n${lines.slice(-30).join("\n")}`);
    renameSync(partial, path);
  } finally {
    clearInterval(timer);
    rmSync(partial, { force: true });
  }
  say(`kube: built in ${elapsed()}, kept in the cache as ${path}`);
}
