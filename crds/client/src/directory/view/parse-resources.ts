/** Parses the text of a file into its resources. Pure. */
import { syntaxFaults } from "@sluice/model";
import { type Document, isMap, LineCounter, parseAllDocuments } from "yaml";
import { directoryKinds, kindNames, kindOf } from "../../kinds.ts";
import type { Kind, Resource } from "../../resource.ts";
import { metadataProblem, normalizeContent } from "./content.ts";

export interface ParsedResource {
  readonly kind: Kind;
  /** Without the members that the client adds: uid, versions, creation time, status. */
  readonly content: Resource;
  /** The index of the document in the file, from 0. */
  readonly document: number;
  readonly position: Position;
}

/** Both numbers start at 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface FileProblem extends Position {
  readonly message: string;
}

export interface ParsedFile {
  /** Whether the resources in the current text are unknown, for example because it is not valid YAML. */
  readonly broken: boolean;
  readonly resources: readonly ParsedResource[];
  readonly faults: readonly FileProblem[];
}

/** Characters. Files written by people are far shorter; a longer one is a mistake. */
const longest = 16 * 1024 * 1024;

export function parseResources(text: string): ParsedFile {
  if (text.length > longest)
    return broken([{ line: 1, column: 1, message: `the file is longer than ${longest} characters` }]);
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter, prettyErrors: false });
  if ("empty" in documents) return { broken: false, resources: [], faults: [] };
  const at = (offset: number): Position => {
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };
  const errors = documents.flatMap((document) => document.errors);
  if (errors.length > 0)
    return broken(syntaxFaults(text, errors).map(({ message, offset }) => ({ ...at(offset), message })));
  const resources: ParsedResource[] = [];
  const faults: FileProblem[] = [];
  for (const [index, document] of documents.entries()) {
    if (document.contents === null) continue;
    const position = at(document.contents.range?.[0] ?? 0);
    const read = readDocument(document);
    if (typeof read === "string") faults.push({ ...position, message: read });
    else if (read) resources.push({ ...read, document: index, position });
  }
  return { broken: false, resources, faults };
}

function broken(faults: readonly FileProblem[]): ParsedFile {
  return { broken: true, resources: [], faults };
}

/** The resource, an error message, or undefined for a document without content. */
function readDocument(document: Document.Parsed): Pick<ParsedResource, "kind" | "content"> | string | undefined {
  let value: unknown;
  try {
    value = document.toJS();
  } catch (error) {
    // Thrown for unresolved aliases and for excessive alias expansion.
    return error instanceof Error ? error.message : String(error);
  }
  if (value === null) return undefined;
  if (!isMap(document.contents)) return "a resource is a map with apiVersion, kind and metadata";
  const raw = value as Readonly<Record<string, unknown>>;
  const kind = kindOf(String(raw.apiVersion), String(raw.kind));
  if (!kind)
    return `unknown kind ${raw.kind ?? "(none)"} of apiVersion ${raw.apiVersion ?? "(none)"}: skipped (known: ${known})`;
  return metadataProblem(kind, raw) ?? { kind, content: normalizeContent(kind, raw) };
}

const known = directoryKinds.map((name) => `${kindNames[name].kind} of ${kindNames[name].apiVersion}`).join(", ");
