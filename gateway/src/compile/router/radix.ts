/**
 * An immutable radix tree over strings: `insertItem` and `removeItem` return a new root, which shares unchanged nodes
 * with the previous tree. The previous tree stays as it was. Only nodes that were created with the same `EditToken` are
 * changed in place, so that building a large tree copies nothing.
 */

/** The right to change nodes in place: held only while a new tree is built. */
export type EditToken = symbol;

export interface RadixNode<Item> {
  readonly edit: EditToken;
  /** The characters between the parent and this node. */
  prefix: string;
  /** By the first UTF-16 code unit of their prefix. */
  children: Map<number, RadixNode<Item>> | null;
  /** The items whose text ends at this node, in the order of `compare`. */
  items: readonly Item[];
}

export type Compare<Item> = (a: Item, b: Item) => number;

const nodeOf = <Item>(edit: EditToken, prefix: string, items: readonly Item[] = []): RadixNode<Item> => ({
  edit,
  prefix,
  children: null,
  items,
});

export const emptyTree = <Item>(edit: EditToken): RadixNode<Item> => nodeOf(edit, "");

const own = <Item>(node: RadixNode<Item>, edit: EditToken): RadixNode<Item> =>
  node.edit === edit
    ? node
    : { edit, prefix: node.prefix, children: node.children && new Map(node.children), items: node.items };

export interface RadixChange<Item> {
  readonly text: string;
  readonly item: Item;
  readonly edit: EditToken;
  readonly compare: Compare<Item>;
}

export function insertItem<Item>(root: RadixNode<Item>, change: RadixChange<Item>, from = 0): RadixNode<Item> {
  const node = own(root, change.edit);
  const { text, item, edit } = change;
  if (from === text.length) {
    node.items = insertSorted(node.items, item, change.compare);
    return node;
  }
  node.children ??= new Map();
  const first = text.charCodeAt(from);
  const child = node.children.get(first);
  if (!child) {
    node.children.set(first, nodeOf(edit, text.slice(from), [item]));
    return node;
  }
  const shared = sharedLength(child.prefix, text, from);
  if (shared === child.prefix.length) {
    node.children.set(first, insertItem(child, change, from + shared));
    return node;
  }
  const fork = nodeOf<Item>(edit, child.prefix.slice(0, shared));
  const rest = own(child, edit);
  rest.prefix = child.prefix.slice(shared);
  fork.children = new Map([[rest.prefix.charCodeAt(0), rest]]);
  node.children.set(first, insertItem(fork, change, from + shared));
  return node;
}

/** Returns the tree without the item that was inserted with the text, and without nodes that thereby become empty. */
export function removeItem<Item>(
  root: RadixNode<Item>,
  change: Omit<RadixChange<Item>, "compare">,
  from = 0,
): RadixNode<Item> {
  const { text, item, edit } = change;
  const node = own(root, edit);
  if (from === text.length) {
    node.items = node.items.filter((other) => other !== item);
    return node;
  }
  const first = text.charCodeAt(from);
  const child = node.children?.get(first);
  if (!child || !text.startsWith(child.prefix, from)) return node;
  const next = removeItem(child, change, from + child.prefix.length);
  if (next.items.length === 0 && (next.children === null || next.children.size === 0)) node.children?.delete(first);
  else node.children?.set(first, next);
  return node;
}

/** Called with the items of a text. An object instead of a function, so that a request allocates no closure. */
export interface ItemsVisitor<Item> {
  visit(items: readonly Item[], length: number): void;
}

/**
 * Visits the items of every inserted text that is a prefix of `text`, the shortest first. The visitor also gets the
 * length of the inserted text.
 */
export function visitPrefixes<Item>(root: RadixNode<Item>, text: string, visitor: ItemsVisitor<Item>): void {
  let node: RadixNode<Item> | undefined = root;
  let position = 0;
  while (node) {
    if (!text.startsWith(node.prefix, position)) return;
    position += node.prefix.length;
    if (node.items.length > 0) visitor.visit(node.items, position);
    if (position === text.length || node.children === null) return;
    node = node.children.get(text.charCodeAt(position));
  }
}

/** A copy with the item inserted in order. */
export function insertSorted<Item>(items: readonly Item[], item: Item, compare: Compare<Item>): readonly Item[] {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = items[middle];
    if (other !== undefined && compare(item, other) < 0) high = middle;
    else low = middle + 1;
  }
  return items.toSpliced(low, 0, item);
}

function sharedLength(prefix: string, text: string, from: number): number {
  const end = Math.min(prefix.length, text.length - from);
  let length = 0;
  while (length < end && prefix.charCodeAt(length) === text.charCodeAt(from + length)) length++;
  return length;
}
