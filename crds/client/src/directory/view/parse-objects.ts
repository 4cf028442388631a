/** Parses the text of a file into Kubernetes objects of any kind, among them the items of lists. Pure. */
import { syntaxFaults } from "@sluice/model";
import { type Document, LineCounter, parseAllDocuments } from "yaml";
import type { Path } from "../../translate/translation.ts";
import { locatePath } from "./locate-path.ts";
import type { FileProblem } from "./parse-resources.ts";

/** An object of any kind, as an API server returns it or as it is in a file. */
export interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly creationTimestamp?: string;
  };
  readonly [member: string]: unknown;
}

export interface ParsedObject {
  readonly content: ManifestObject;
  /** The index of the document in the file, from 0. */
  readonly document: number;
  /** The path of the object in the document: empty, or `["items", 2]` for an item of a list. */
  readonly path: Path;
}

/** Characters. A longer file is a mistake. */
const longest = 16 * 1024 * 1024;

export interface ParsedObjects {
  readonly objects: readonly ParsedObject[];
  readonly faults: readonly FileProblem[];
}

/** If the text is not valid YAML, there are only faults. Empty documents are skipped. */
export function parseObjects(text: string): ParsedObjects {
  if (text.length > longest)
    return { objects: [], faults: [{ line: 1, column: 1, message: `the file is longer than ${longest} characters` }] };
  const lineCounter = new LineCounter();
  // At a lower log level, the parser would warn on standard error about maps that are used as member names.
  const documents = parseAllDocuments(text, { lineCounter, prettyErrors: false, logLevel: "error" });
  if ("empty" in documents) return { objects: [], faults: [] };
  const errors = documents.flatMap((document) => document.errors);
  if (errors.length > 0) {
    const faults = syntaxFaults(text, errors).map(({ message, offset }) => {
      const { line, col } = lineCounter.linePos(offset);
      return { line, column: col, message };
    });
    return { objects: [], faults };
  }
  const found = documents.map((document, index) => objectsOf(document, index));
  return {
    objects: found.flatMap(({ objects }) => objects),
    faults: found.flatMap(({ faults }, index) =>
      faults.map(({ path, message }) => ({ ...locatePath(text, index, path), message })),
    ),
  };
}

interface FoundObjects {
  readonly objects: readonly ParsedObject[];
  readonly faults: readonly { readonly path: Path; readonly message: string }[];
}

function objectsOf(document: Document.Parsed, index: number): FoundObjects {
  let value: unknown;
  try {
    value = document.toJS();
  } catch (error) {
    // Thrown for unresolved aliases and for excessive alias expansion.
    return { objects: [], faults: [{ path: [], message: (error as Error).message }] };
  }
  return value === null || value === undefined ? { objects: [], faults: [] } : read(value, []);

  function read(item: unknown, path: Path): FoundObjects {
    const { apiVersion, kind, items } = Object(item) as Readonly<Record<string, unknown>>;
    if (typeof apiVersion === "string" && typeof kind === "string" && kind.endsWith("List") && Array.isArray(items)) {
      const found = items.map((one, at) => read(one, [...path, "items", at]));
      return { objects: found.flatMap(({ objects }) => objects), faults: found.flatMap(({ faults }) => faults) };
    }
    const fault = shapeFaultOf(item);
    if (fault) return { objects: [], faults: [{ path: [...path, ...fault.path], message: fault.message }] };
    return { objects: [{ content: item as ManifestObject, document: index, path }], faults: [] };
  }
}

function shapeFaultOf(item: unknown): { readonly path: Path; readonly message: string } | undefined {
  const { apiVersion, kind, metadata } = Object(item) as Readonly<Record<string, unknown>>;
  if (typeof apiVersion !== "string" || typeof kind !== "string")
    return { path: [], message: "an object is a map with apiVersion, kind and metadata" };
  const { name, namespace, labels, annotations } = Object(metadata) as Readonly<Record<string, unknown>>;
  if (typeof name !== "string" || name === "") return { path: ["metadata"], message: "metadata.name: required" };
  if (namespace !== undefined && typeof namespace !== "string")
    return { path: ["metadata", "namespace"], message: "metadata.namespace: must be a string" };
  for (const [member, value] of Object.entries({ labels, annotations })) {
    const wrong = Object.entries(Object(value)).find(([, text]) => typeof text !== "string");
    if (wrong)
      return {
        path: ["metadata", member, wrong[0]],
        message: `metadata.${member}[${wrong[0]}]: must be a string (quote numbers, true and false)`,
      };
  }
  return undefined;
}
