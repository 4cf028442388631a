/** Prints a file's tree as text. In YAML, untouched nodes keep their bytes; JSON is printed anew. */
import {
  type Collection,
  flattenText,
  type ItemText,
  type Layout,
  layoutOf,
  layoutText,
  renderItem,
} from "@sluice/model";
import type { TouchedNodes } from "./edit.ts";
import { type FileNode, type FileTree, isCollection, nodeData } from "./tree.ts";

/** Returns the text of the tree; `touched` are the top-level nodes that changed since the previous call. */
export type PrintFile = (touched: TouchedNodes) => string;

/** @param text The text from which the tree was built. */
export function createPrinter(tree: FileTree, text: string): PrintFile {
  return text.trimStart().startsWith("{") && isJson(text) ? jsonPrinter(tree, text) : yamlPrinter(tree, text);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function wholeOf({ head, top }: FileTree): object {
  const missing = Object.entries(top).filter(([name, nodes]) => nodes.length > 0 && !head.has(name));
  return Object.fromEntries(
    [...head, ...missing].map(([name, value]) => [name, isCollection(name) ? top[name].map(nodeData) : value]),
  );
}

function jsonPrinter(tree: FileTree, text: string): PrintFile {
  const [, indent = ""] = /\n([ \t]+)"/.exec(text) ?? [];
  return () => `${JSON.stringify(wholeOf(tree), null, indent)}${text.endsWith("\n") ? "\n" : ""}`;
}

function yamlPrinter(tree: FileTree, text: string): PrintFile {
  const layout = layoutOf(text) ?? layoutOf(flattenText(text, wholeOf(tree)));
  if (!layout) throw new Error("the file cannot be divided into its entities");
  const crlf = text.includes("\r\n");
  const lines = new Map<FileNode, ItemText>();
  for (const { collection, items } of layout.lists)
    for (const [index, item] of items.entries()) {
      const node = tree.top[collection][index];
      if (node) lines.set(node, item);
    }
  const lists = layout.lists.map(({ collection, head, indent }) => ({ collection, head, indent }));
  const { end } = layout;
  let { tail } = layout;

  function addList(collection: Collection): void {
    const indent = lists.at(-1)?.indent ?? 2;
    lists.push({ collection, head: `${tail}${collection}:${crlf ? "\r\n" : "\n"}`, indent });
    tail = "";
  }

  return (touched) => {
    for (const collection of Object.keys(tree.top) as Collection[]) {
      if (tree.top[collection].length > 0 && !lists.some((list) => list.collection === collection)) addList(collection);
    }
    const printed = lists.map((list) => ({
      ...list,
      items: tree.top[list.collection].map((node) => {
        const known = lines.get(node);
        if (known && !touched.has(node)) return known;
        const body = renderItem(nodeData(node), { indent: list.indent, crlf, ...(known && { before: known.body }) });
        const item = { lead: known?.lead ?? "", body };
        lines.set(node, item);
        return item;
      }),
    }));
    for (const node of touched) if (!tree.top[node.collection].includes(node)) lines.delete(node);
    return layoutText({ lists: printed, tail, end } satisfies Layout);
  };
}
