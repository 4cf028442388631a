/** The sizes of Sluice's container images. */
import { unpackImages } from "../../../tools/images/archive/unpack.ts";
import { workloads } from "../../../tools/images/contents/workloads.ts";
import { atMost, type BenchReport } from "../report.ts";

const BOUND = 200;
const MB = 1e6;

export async function measureImageSizes(): Promise<BenchReport> {
  const all = await unpackImages();
  const rows = Object.values(workloads).map(({ name }) => {
    const { list } = all[name];
    const sum = (belongs: (path: string) => boolean) =>
      [...list].reduce((total, [path, { size }]) => total + (belongs(path) ? size : 0), 0) / MB;
    const ours = (path: string) => path.startsWith("sluice/");
    return {
      image: name,
      "unpacked, MB": sum(() => true),
      "of which Node and its libraries": sum((path) => !ours(path)),
      files: list.size,
    };
  });
  const rounded = (value: number) => Number(value.toFixed(1));
  const shared = rows[0]?.["of which Node and its libraries"] ?? 0;
  const together = rows.reduce((sum, row) => sum + row["unpacked, MB"] - shared, shared);
  return {
    title: "Sizes of the images",
    method:
      "Bytes (MB: 10^6) of all files of an image, as built by `npm run images`. All images share one layer with Node and its libraries.",
    rows: rows.map((row) => ({
      ...row,
      "unpacked, MB": rounded(row["unpacked, MB"]),
      "of which Node and its libraries": rounded(shared),
    })),
    verdicts: [
      atMost("the largest image", Math.max(...rows.map((row) => row["unpacked, MB"])), { bound: BOUND, unit: " MB" }),
      `all ${rows.length} on one node: ${rounded(together)} MB`,
    ],
  };
}
