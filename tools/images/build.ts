import { execFileSync } from "node:child_process";
import manifest from "../../package.json" with { type: "json" };
import { type Image, type ImageLayer, imageLayer, ociImage, type RunAs } from "./archive/oci.ts";
import { copiedFile, fileNode, type TreeEntry } from "./archive/tree.ts";
import { imagePlaces, startCommandOf } from "./command.ts";
import { type BaseLayer, nodeBase } from "./contents/base.ts";
import { dependencyClosureOf, lockRoot } from "./contents/lock.ts";
import { consoleEntries, dependencyFiles, workspaceFiles } from "./contents/packages.ts";
import { sbomOf, sbomPlace } from "./contents/sbom.ts";
import {
  type ImageWorkload,
  imageDataFolder,
  imageUser,
  packageVersion,
  type Standalone,
} from "./contents/workloads.ts";

/** The root file system of an image, in layers: rarely changed files come first, so that images share them. */
export interface ImageRoot {
  readonly layers: readonly Part[];
  /** A CycloneDX document, as it is in the image. */
  readonly sbom: string;
}

interface Part {
  readonly what: string;
  readonly entries: readonly TreeEntry[];
}

/** Values that the images of one build share; each is computed once. */
export interface ImageKit {
  readonly base: BaseLayer;
  /** Packs a layer; cached by its entries. */
  readonly pack: (part: Part) => ImageLayer;
}

export function makeImageKit(): ImageKit {
  return {
    base: nodeBase(),
    pack: once(
      ({ entries }) => entries,
      ({ what, entries }) => imageLayer(what, entries),
    ),
  };
}

/** Memoizes a function by a key. */
function once<Given, Key, Made>(keyOf: (given: Given) => Key, make: (given: Given) => Made): (given: Given) => Made {
  const all = new Map<Key, Made>();
  return (given) => {
    const key = keyOf(given);
    const made = all.get(key) ?? make(given);
    all.set(key, made);
    return made;
  };
}

/** The part of the root file system that all images with Node share. */
export const nodeRootPart = ({ base }: ImageKit): Part => ({ what: "node and its libraries", entries: base.entries });

/** The root file system of a workload. */
export function imageRootOf(workload: ImageWorkload, kit: ImageKit = makeImageKit()): ImageRoot {
  const { name, workspace, without, console: hasConsole, standalone } = workload;
  const closure = dependencyClosureOf(workspace, without);
  // The files of the console contain these packages.
  const bundled = hasConsole ? dependencyClosureOf("gateway/console", []).packages : [];
  const npm = [...kit.base.npm, ...closure.workspaces, ...closure.packages, ...bundled];
  const sbom = sbomOf({ name: imageName(name), version: packageVersion, npm, system: kit.base.packages });
  return {
    layers: [
      nodeRootPart(kit),
      { what: `the dependencies of ${workspace}`, entries: dependencyFiles(closure) },
      {
        what: `${workspace} and the SBOM`,
        entries: [
          ...workspaceFiles(closure),
          ...(hasConsole ? consoleEntries() : []),
          ...(standalone ? [commandOnPath(workspace, standalone)] : []),
          fileNode(sbomPlace, sbom),
          copiedFile("sluice/LICENSE", `${lockRoot}/LICENSE`),
          copiedFile("sluice/THIRD_PARTY_LICENSES.md", `${lockRoot}/THIRD_PARTY_LICENSES.md`),
        ],
      },
    ],
    sbom,
  };
}

/** How a workload's container runs. */
export function runAsOf({ workspace, words, title, description, standalone }: ImageWorkload): RunAs {
  const { env, entrypoint } = startCommandOf(workspace);
  const settings = Object.entries(standalone?.settings ?? {}).map(([name, value]) => `${name}=${value}`);
  return {
    ...imageConfig({ title, description, version: packageVersion, license: manifest.license }),
    Env: ["PATH=/usr/local/bin", ...env, ...settings],
    Entrypoint: entrypoint,
    Cmd: words,
    ...(standalone && runAlone(standalone)),
  };
}

const SECOND = 1e9;

const runAlone = ({ ports, volume, healthCheck }: Standalone): Partial<RunAs> => ({
  ExposedPorts: Object.fromEntries(ports.map((port) => [`${port}/tcp`, {}])),
  Volumes: { [volume]: {} },
  Healthcheck: {
    Test: ["CMD", `/${imagePlaces.node}`, "--eval", healthCheck],
    Interval: 10 * SECOND,
    Timeout: 5 * SECOND,
    // The first start creates the database.
    StartPeriod: 60 * SECOND,
  },
});

/**
 * A workspace's command for `docker exec`. The image has no `env` for the command's own first line, and the kernel
 * passes a single argument to an interpreter.
 */
const commandOnPath = (workspace: string, { command }: Standalone): TreeEntry =>
  fileNode(
    `usr/local/bin/${command}`,
    `#!/${imagePlaces.node} --conditions=built\nimport "/${imagePlaces.sluice}/${workspace}/build/main.js";\n`,
    0o755,
  );

/** The user, the default working directory and the labels of an image. */
export function imageConfig(about: {
  readonly title: string;
  readonly description: string;
  readonly version: string;
  readonly license: string;
}): Pick<RunAs, "User" | "WorkingDir" | "Labels"> {
  const label = (name: string, value: string | undefined) =>
    value === undefined ? {} : { [`org.opencontainers.image.${name}`]: value };
  return {
    User: `${imageUser.id}:${imageUser.id}`,
    WorkingDir: imageDataFolder,
    Labels: {
      ...label("title", about.title),
      ...label("description", about.description),
      ...label("version", about.version),
      ...label("licenses", about.license),
      ...label("revision", sourceRevision()),
      ...label("source", (manifest as { repository?: string }).repository),
    },
  };
}

/** The sources that, together with the files of this machine, decide the contents of the images. */
export const imageSources = [
  ...[
    "gateway/plugin-sdk",
    "gateway/plugins",
    "gateway/console",
    "crds/model",
    "crds/client",
    "crds/acme",
    "gateway",
    "operator",
    "user-api",
  ],
  ...["tools/images", "tools/build", "package.json", "package-lock.json", "LICENSE", "THIRD_PARTY_LICENSES.md"],
];

/** The last commit that changed the sources, with `-dirty` when they have changed since; undefined outside a clone. */
export function sourceRevision(): string | undefined {
  const git = (...args: readonly string[]) =>
    execFileSync("git", [...args, "--", ...imageSources], {
      cwd: lockRoot,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  try {
    const commit = git("log", "-1", "--format=%H").trim();
    return git("status", "--porcelain") === "" ? commit : `${commit}-dirty`;
  } catch {
    return undefined;
  }
}

/** The full name of an image, such as docker.io/sluice/gateway:0.1.0. A pod may leave out `docker.io/`. */
export const imageName = (name: string, tag: string = packageVersion): string => `docker.io/sluice/${name}:${tag}`;

/** The image of a workload. */
export function workloadImage(workload: ImageWorkload, kit: ImageKit): Image {
  const layers = imageRootOf(workload, kit).layers.map(kit.pack);
  return ociImage(imageName(workload.name), { layers, runAs: runAsOf(workload) });
}
