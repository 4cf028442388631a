/** Changes one document of a file: what does not change keeps its bytes, and within it its comments and order. Pure. */
import { isDeepStrictEqual } from "node:util";
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  parseAllDocuments,
  stringify,
  visit,
} from "yaml";
import type { Resource } from "../resource.ts";

type Raw = Record<string, unknown>;

/** A new file with one resource. */
export function printResource(resource: Resource): string {
  return stringify(rawOf(resource, {}), { lineWidth: 0 });
}

/** The text with the document at `index` saying `content`. */
export function replaceDocument(text: string, index: number, content: Resource): string {
  return splice(text, index, (document, source) => {
    const raw = document.toJS() as Raw;
    const wanted = rawOf(content, raw);
    // JSON has no comments to keep and no other way to be written.
    if (source.trimStart().startsWith("{")) return `${JSON.stringify(wanted, null, 2)}\n`;
    // An edit of what an alias repeats would change both places.
    if (hasAlias(document)) document.contents = document.createNode(wanted) as unknown as typeof document.contents;
    else edit(document, document.contents, wanted);
    return document.toString({
      lineWidth: 0,
      indentSeq: !/^( *)[^\s#-][^\n]*:[ \t]*\n\1- /m.test(source),
      flowCollectionPadding: /[[{] /.test(source),
    });
  });
}

/** The text without the document at `index`; null when no other has content. */
export function removeDocument(text: string, index: number): string | null {
  const others = parseAllDocuments(text).filter((document, at) => at !== index && document.contents !== null);
  return others.length === 0 ? null : splice(text, index, () => "");
}

function splice(text: string, index: number, print: (document: Document.Parsed, source: string) => string): string {
  const documents = parseAllDocuments(text);
  const document = documents[index];
  if (!document) throw new RangeError(`no document ${index} among ${documents.length}`);
  // Comments and directives in front of `---` belong to the document after them.
  const start = documents[index - 1]?.range[2] ?? 0;
  const end = document.range[2];
  return text.slice(0, start) + print(document, text.slice(start, end)) + text.slice(end);
}

/** The content as a person writes it: the namespace `default` is not said, Secrets keep no second copy of their data. */
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

/** Makes the node say the value and returns it, or a new node where it is of another sort. */
function edit(document: Document, node: unknown, value: unknown): Node {
  if (isNode(node) && !isAlias(node) && isDeepStrictEqual(node.toJS(document), value)) return node;
  if (isMap(node) && typeof value === "object" && value !== null && !Array.isArray(value)) {
    const wanted = Object.entries(value).filter(([, member]) => member !== undefined);
    const names = new Set(wanted.map(([name]) => name));
    node.items = node.items.filter(({ key }) => names.has(String(isScalar(key) ? key.value : key)));
    for (const [name, member] of wanted) node.set(name, edit(document, node.get(name, true), member));
    return node;
  }
  if (isSeq(node) && Array.isArray(value)) {
    node.items = value.map((item, index) => edit(document, node.items[index], item));
    return node;
  }
  const created = document.createNode(value);
  if (isScalar(node) && isScalar(created)) {
    const { comment, commentBefore, spaceBefore } = node;
    Object.assign(created, { comment, commentBefore, spaceBefore });
    if (typeof node.value === "string" && typeof value === "string") created.type = node.type;
  }
  return created;
}
