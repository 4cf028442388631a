/**
 * Changes one document of a file. Other documents keep their bytes; the changed document keeps its comments and order,
 * unless it has aliases. Pure.
 */
import { editNode } from "@sluice/model";
import { type Document, parseAllDocuments, stringify, visit } from "yaml";
import type { Resource } from "../resource.ts";

type Raw = Record<string, unknown>;

/** The text of a new file with one resource. */
export function printResource(resource: Resource): string {
  return stringify(rawOf(resource, {}), { lineWidth: 0 });
}

/** The text with the document at `index` replaced by `content`. */
export function replaceDocument(text: string, index: number, content: Resource): string {
  return splice(text, index, (document, source) => {
    const raw = document.toJS() as Raw;
    const wanted = rawOf(content, raw);
    // JSON has no comments to preserve and is simply reprinted.
    if (source.trimStart().startsWith("{")) return `${JSON.stringify(wanted, null, 2)}\n`;
    // Editing a node that an alias repeats would change both places.
    if (hasAlias(document)) document.contents = document.createNode(wanted) as unknown as typeof document.contents;
    else editNode(document, document.contents, wanted);
    return document.toString({
      lineWidth: 0,
      indentSeq: !/^( *)[^\s#-][^\n]*:[ \t]*\n\1- /m.test(source),
      flowCollectionPadding: /[[{] /.test(source),
    });
  });
}

/** The text without the document at `index`; null when no other document has content. */
export function removeDocument(text: string, index: number): string | null {
  const others = parseAllDocuments(text).filter((document, at) => at !== index && document.contents !== null);
  return others.length === 0 ? null : splice(text, index, () => "");
}

function splice(text: string, index: number, print: (document: Document.Parsed, source: string) => string): string {
  const documents = parseAllDocuments(text);
  const document = documents[index];
  if (!document) throw new RangeError(`the text has ${documents.length} documents, and none with the index ${index}`);
  // Comments and directives in front of `---` belong to the document after them.
  const start = documents[index - 1]?.range[2] ?? 0;
  const end = document.range[2];
  return text.slice(0, start) + print(document, text.slice(start, end)) + text.slice(end);
}

/**
 * The content as a person writes it, without the namespace `default`. A Secret has only `data`, no `stringData`. The
 * previous text's status stays, and so does its metadata other than labels and annotations.
 */
function rawOf(content: Resource, before: Raw): Raw {
  const { apiVersion, kind, metadata, ...members } = content;
  const { name, namespace, labels, annotations } = metadata;
  const { labels: _, annotations: __, ...others } = (before.metadata ?? {}) as Raw;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace === "default" ? {} : { namespace }),
      ...others,
      ...(labels ? { labels } : {}),
      ...(annotations ? { annotations } : {}),
    },
    ...members,
    ...("status" in before ? { status: before.status } : {}),
  };
}

function hasAlias(document: Document): boolean {
  let found = false;
  visit(document, {
    Alias() {
      found = true;
      return visit.BREAK;
    },
  });
  return found;
}
