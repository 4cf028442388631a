import { mkdirSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { cacheFolder } from "./obtain/cache.ts";
import { fromGo } from "./obtain/go.ts";

const clients = join(import.meta.dirname, "../../test/clients");
const versions = { pulumi: "v3.230.0", kubernetes: "4.18.2" } as const;

/** The command `pulumi`, which contains the deployment engine, built with the version flag of Pulumi's own build. */
const command = fromGo({
  name: "pulumi",
  module: join(clients, "pulumi"),
  package: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
  ldflags: [`-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=${versions.pulumi}`],
  what: `Pulumi ${versions.pulumi}, about 5 minutes the first time (two cores)`,
});

/** The language host that starts Node for the command. */
const language = fromGo({
  name: "pulumi-language-nodejs",
  module: join(clients, "pulumi-language-nodejs"),
  package: "github.com/pulumi/pulumi/sdk/v3/nodejs/cmd/pulumi-language-nodejs",
  ldflags: ["-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v3.60.0"],
  what: "Pulumi's language host for Node.js, about a minute",
});

/** The Kubernetes provider; its main.go lists the features that it lacks. */
const kubernetes = fromGo({
  name: "pulumi-resource-kubernetes",
  module: join(clients, "pulumi-kubernetes"),
  ldflags: [`-X github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version.Version=${versions.kubernetes}`],
  what: `Pulumi's Kubernetes provider ${versions.kubernetes}, about 13 minutes the first time (two cores)`,
});

/** The command and its plugins by the plain names under which Pulumi finds them on PATH. */
const parts = { pulumi: command, "pulumi-language-nodejs": language, "pulumi-resource-kubernetes": kubernetes };

/**
 * Resolves to the path of the command `pulumi`, in a folder with its plugins. The folder must be on PATH when `pulumi`
 * runs: otherwise `pulumi` would download the plugins.
 */
export async function pulumi(say: (line: string) => void): Promise<string> {
  const built: [name: string, path: string][] = [];
  for (const [name, build] of Object.entries(parts)) built.push([name, await build(say)]);
  // The folder's name contains the cache keys of its contents: a different build gets a different folder.
  const key = built.map(([name, path]) => basename(path).slice(name.length + 1)).join("-");
  const folder = join(cacheFolder(), `pulumi-${key}`);
  mkdirSync(folder, { recursive: true });
  for (const [name, path] of built) link(path, join(folder, name));
  return join(folder, "pulumi");
}

function link(target: string, path: string): void {
  try {
    symlinkSync(target, path);
  } catch (error) {
    // Created by an earlier call, or by another process at the same time.
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}
