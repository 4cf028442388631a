/** Changes the value of a parsed YAML node; comments, order and quoting inside it are kept. */
import { isDeepStrictEqual } from "node:util";
import { type Document, isAlias, isMap, isNode, isScalar, isSeq, type Node } from "yaml";

/** The edited node, or a new one if the value has another type. */
export function editNode(document: Document, node: unknown, value: unknown): Node {
  if (isNode(node) && !isAlias(node) && isDeepStrictEqual(node.toJS(document), value)) return node;
  if (isMap(node) && typeof value === "object" && value !== null && !Array.isArray(value)) {
    const wanted = Object.entries(value).filter(([, member]) => member !== undefined);
    const names = new Set(wanted.map(([name]) => name));
    node.items = node.items.filter(({ key }) => names.has(String(isScalar(key) ? key.value : key)));
    for (const [name, member] of wanted) node.set(name, editNode(document, node.get(name, true), member));
    return node;
  }
  if (isSeq(node) && Array.isArray(value)) {
    node.items = value.map((item, index) => editNode(document, node.items[index], item));
    return node;
  }
  const created = document.createNode(value, { aliasDuplicateObjects: false });
  if (isScalar(node) && isScalar(created)) {
    const { comment, commentBefore, spaceBefore } = node;
    Object.assign(created, { comment, commentBefore, spaceBefore });
    if (typeof node.value === "string" && typeof value === "string") created.type = node.type;
  }
  return created;
}
