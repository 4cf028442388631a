import { createHash } from "node:crypto";
import { closeSync, openSync, writeSync } from "node:fs";
import { tarArchive } from "./tar.ts";
import { fileNode, type TreeEntry } from "./tree.ts";

/** How an image's process is started, and the image's labels: `config` of the OCI image specification. */
export interface RunAs {
  readonly User: string;
  /** `NAME=value` */
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly WorkingDir: string;
  readonly Labels: Readonly<Record<string, string>>;
  readonly StopSignal?: string;
  readonly ExposedPorts?: Readonly<Record<string, object>>;
  readonly Volumes?: Readonly<Record<string, object>>;
  /** Docker's addition to the specification; times are in nanoseconds. Kubernetes ignores it. */
  readonly Healthcheck?: {
    readonly Test: readonly string[];
    readonly Interval: number;
    readonly Timeout: number;
    readonly StartPeriod: number;
  };
}

/** A packed layer. Images that share a layer share its bytes. */
export interface ImageLayer {
  /** A description for the image's history. */
  readonly what: string;
  readonly blob: Blob;
}

/** Content-addressed bytes, named by their SHA-256. */
interface Blob {
  readonly digest: string;
  readonly size: number;
  readonly pieces: readonly Buffer[];
}

export interface Image {
  /** With registry, repository, and tag or digest: docker.io/sluice/gateway:0.1.0. */
  readonly name: string;
  /** The digest of the image's manifest: sha256:… */
  readonly digest: string;
  readonly manifest: Blob;
  readonly blobs: readonly Blob[];
}

const media = (name: string) => `application/vnd.oci.image.${name}`;

export const imageLayer = (what: string, entries: readonly TreeEntry[]): ImageLayer => ({
  what,
  blob: blobOf(tarArchive(entries)),
});

/**
 * An image for this machine's platform. It contains no timestamps, so equal layers and settings give an equal digest.
 */
export function ociImage(name: string, { layers, runAs }: { layers: readonly ImageLayer[]; runAs: RunAs }): Image {
  const config = json({
    architecture: { x64: "amd64" }[process.arch as string] ?? process.arch,
    os: "linux",
    config: runAs,
    rootfs: { type: "layers", diff_ids: layers.map(({ blob }) => blob.digest) },
    history: layers.map(({ what }) => ({ created_by: what })),
  });
  const manifest = json({
    schemaVersion: 2,
    mediaType: media("manifest.v1+json"),
    config: described(config, "config.v1+json"),
    layers: layers.map(({ blob }) => described(blob, "layer.v1.tar")),
  });
  return { name, digest: manifest.digest, manifest, blobs: [...layers.map(({ blob }) => blob), config, manifest] };
}

/** Writes images into one file: an OCI image layout as a tar archive, for `ctr images import` and `podman load`. */
export function writeArchive(place: string, images: readonly Image[]): void {
  const blobs = new Map(images.flatMap((one) => one.blobs.map((blob) => [blob.digest, blob] as const)));
  const index = json({
    schemaVersion: 2,
    mediaType: media("index.v1+json"),
    manifests: images.map(({ name, manifest }) => ({
      ...described(manifest, "manifest.v1+json"),
      annotations: {
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": name.slice(name.lastIndexOf(":") + 1),
      },
    })),
  });
  const pieces = tarArchive([
    fileNode("oci-layout", '{"imageLayoutVersion":"1.0.0"}'),
    fileNode("index.json", Buffer.concat(index.pieces)),
    ...[...blobs].map(([digest, blob]) => fileNode(`blobs/${digest.replace(":", "/")}`, Buffer.concat(blob.pieces))),
  ]);
  const open = openSync(place, "w");
  try {
    for (const piece of pieces) for (let at = 0; at < piece.length; ) at += writeSync(open, piece, at);
  } finally {
    closeSync(open);
  }
}

const json = (value: unknown): Blob => blobOf([Buffer.from(JSON.stringify(value))]);

function blobOf(pieces: readonly Buffer[]): Blob {
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  const size = pieces.reduce((total, { length }) => total + length, 0);
  return { digest: `sha256:${hash.digest("hex")}`, size, pieces };
}

const described = ({ digest, size }: Blob, type: string) => ({ mediaType: media(type), digest, size });
