import { execFileSync } from "node:child_process";
import manifest from "../../package.json" with { type: "json" };
import { type Base, nodeBase } from "./base.ts";
import { startOf } from "./command.ts";
import { closureOf, root } from "./lock.ts";
import { type Image, image, type Layer, layer, type RunAs } from "./oci.ts";
import { dependencies, workspaceFiles } from "./packages.ts";
import { sbomOf, sbomPlace } from "./sbom.ts";
import { copied, type Entry, file } from "./tree.ts";
import { user, version, type Workload } from "./workloads.ts";

/** The root file system of an image, in layers: what changes seldom comes first and is shared. */
export interface Root {
  readonly layers: readonly Part[];
  /** CycloneDX, as it is in the image. */
  readonly sbom: string;
}

interface Part {
  readonly what: string;
  readonly entries: readonly Entry[];
}

/** The root file system of a workload. */
export function rootOf({ name, workspace, without }: Workload, base: Base = nodeBase()): Root {
  const closure = closureOf(workspace, without);
  const npm = [...base.npm, ...closure.workspaces, ...closure.packages];
  const sbom = sbomOf({ name: nameOf(name), version, npm, system: base.packages });
  return {
    layers: [
      { what: "node and its libraries", entries: base.entries },
      { what: `what ${workspace} depends on`, entries: dependencies(closure) },
      {
        what: `${workspace} and the list of contents`,
        entries: [...workspaceFiles(closure), file(sbomPlace, sbom), copied("sluice/LICENSE", `${root}/LICENSE`)],
      },
    ],
    sbom,
  };
}

/** How a workload's container runs. */
export function runAsOf({ workspace, words, title, description }: Workload): RunAs {
  const { env, entrypoint } = startOf(workspace);
  return {
    ...runAs({ title, description, version, license: manifest.license }),
    Env: ["PATH=/usr/local/bin", ...env],
    Entrypoint: entrypoint,
    Cmd: words,
  };
}

/** What all images have in common: who runs, where, and the labels. */
export function runAs(about: {
  readonly title: string;
  readonly description: string;
  readonly version: string;
  readonly license: string;
}): Pick<RunAs, "User" | "WorkingDir" | "Labels"> {
  const label = (name: string, value: string | undefined) =>
    value === undefined ? {} : { [`org.opencontainers.image.${name}`]: value };
  return {
    User: `${user.id}:${user.id}`,
    WorkingDir: "/var/lib/sluice",
    Labels: {
      ...label("title", about.title),
      ...label("description", about.description),
      ...label("version", about.version),
      ...label("licenses", about.license),
      ...label("revision", revision()),
      ...label("source", (manifest as { repository?: string }).repository),
    },
  };
}

/** The commit that the sources are at, with `-dirty` behind it when they differ; none where there is no clone. */
export function revision(): string | undefined {
  const args = ["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"];
  try {
    return execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return undefined;
  }
}

/** The name that a pod's `sluice/gateway:0.1.0` stands for. */
export const nameOf = (name: string, tag: string = version): string => `docker.io/sluice/${name}:${tag}`;

/** Packs the layers of root file systems; equal parts, which are told by their entries, are packed once. */
export function packer(): (part: Part) => Layer {
  const packed = new Map<readonly Entry[], Layer>();
  return ({ what, entries }) => {
    const known = packed.get(entries) ?? layer(what, entries);
    packed.set(entries, known);
    return known;
  };
}

/** The image of a workload. */
export function imageOf(workload: Workload, { base, pack }: { base: Base; pack: (part: Part) => Layer }): Image {
  const layers = rootOf(workload, base).layers.map(pack);
  return image(nameOf(workload.name), { layers, runAs: runAsOf(workload) });
}
