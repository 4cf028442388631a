/** Reads the objects of a file, or of the files of a folder. */
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { locatePath, type ManifestObject, type Path, parseObjects } from "@sluice/crds";
import { CommandError } from "../../command.ts";
import { filesOf } from "../../config/resource-folder.ts";
import { objectTitle } from "./convert/objects.ts";

/** Objects, with the place of a field of an object: `shop.yaml:12:5`, or empty if it is unknown. */
export interface ReadObjects {
  readonly objects: readonly ManifestObject[];
  readonly placeOf: (object: ManifestObject, path: Path) => string;
}

/** A template is no valid YAML, or YAML with another meaning: the first expression is reported instead. */
function faultsOf(file: string, content: string, faults: ReturnType<typeof parseObjects>["faults"]): readonly string[] {
  const before = content.split("{{", 1)[0] ?? "";
  if (faults.length === 0 || before.length === content.length)
    return faults.map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`);
  const lines = before.split("\n");
  return [`${file}:${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}: a template: ${RENDER}`];
}

/** Bases and overlays of Kustomize have the same objects. */
const RENDER = "read the rendered manifests, such as those of 'kustomize build' or 'helm template', with -f -";

/** @param path `-` is standard input. @throws CommandError with every error and its position. */
export async function readObjectFiles(path: string): Promise<ReadObjects> {
  const origins = new Map<ManifestObject, { file: string; text: string; document: number; path: Path }>();
  const faults: string[] = [];
  const places = new Map<string, string>();
  for (const file of path === "-" ? [path] : await filesOf(path)) {
    const content = path === "-" ? await text(process.stdin) : await readFile(file, "utf8");
    const parsed = parseObjects(content);
    faults.push(...faultsOf(file, content, parsed.faults));
    for (const { content: object, document, path: at } of parsed.objects) {
      const { line, column } = locatePath(content, document, at);
      const place = `${file}:${line}:${column}`;
      const key = `${object.apiVersion.split("/")[0]} ${objectTitle(object)}`;
      const other = places.get(key);
      if (other !== undefined) faults.push(`${place}: ${objectTitle(object)} is also at ${other}: ${RENDER}`);
      places.set(key, place);
      origins.set(object, { file, text: content, document, path: at });
    }
  }
  if (faults.length > 0) throw new CommandError(`${path} cannot be read:`, faults);
  if (origins.size === 0) throw new CommandError(`${path} has no Kubernetes objects: name a folder or file with YAML`);
  return {
    objects: [...origins.keys()],
    placeOf(object, field) {
      const origin = origins.get(object);
      if (!origin) return "";
      const { line, column } = locatePath(origin.text, origin.document, [...origin.path, ...field]);
      return `${origin.file}:${line}:${column}`;
    },
  };
}
