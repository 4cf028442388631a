/** Applies the effects of a write to a file's tree. */
import { type Collection, credentialCollections, type Entity, entityNameOf, references } from "@sluice/model";
import type { Effect } from "../store.ts";
import { editedItem, idIn, newItem, referenceText } from "./format-item.ts";
import { type FileNode, type FileTree, type Members, type NodeParent, nodeKey, rootNode } from "./tree.ts";

/** Collections whose entities require a parent, and are written inside it. */
const alwaysNested: ReadonlySet<Collection> = new Set(["snis", "targets", ...credentialCollections]);

/** Top-level nodes whose text must be written again. */
export type TouchedNodes = Set<FileNode>;

export function editTree(tree: FileTree, effects: readonly Effect[], touched: TouchedNodes): void {
  for (const { collection, before, after, along } of effects) {
    for (const gone of along) remove(tree, touched, nodeKey(gone.collection, gone.entity.id));
    if (after && before) replace(tree, touched, { collection, entity: after });
    else if (after) add(tree, touched, { collection, entity: after });
    else if (before) remove(tree, touched, nodeKey(collection, before.id));
  }
}

interface Placed {
  readonly collection: Collection;
  readonly entity: Entity;
}

function add(tree: FileTree, touched: TouchedNodes, { collection, entity }: Placed): void {
  const parent = placeFor(tree, { collection, entity });
  const node: FileNode = {
    collection,
    entity,
    extras: undefined,
    members: newItem({ collection, entity, parent, tree }),
    children: new Map(),
    parent: null,
  };
  tree.nodes.set(nodeKey(collection, entity.id), node);
  attach(tree, node, parent);
  touched.add(rootNode(node));
}

function replace(tree: FileTree, touched: TouchedNodes, { collection, entity }: Placed): void {
  const node = tree.nodes.get(nodeKey(collection, entity.id));
  if (!node) throw new Error(`the file has no ${collection} ${entity.id}`);
  const before: FileNode = { ...node };
  touched.add(rootNode(node));
  const { parent } = node;
  const moves = parent !== null && idIn(entity, parent.member) !== parent.node.entity.id;
  if (moves) detach(tree, node);
  const home = moves ? placeFor(tree, { collection, entity }) : parent;
  node.entity = entity;
  node.members = editedItem(before, { collection, entity, parent: home, tree });
  if (moves) attach(tree, node, home);
  touched.add(rootNode(node));
  if (entityNameOf(collection, before.entity) !== entityNameOf(collection, entity))
    renameReferences(tree, touched, node);
}

function remove(tree: FileTree, touched: TouchedNodes, key: string): void {
  const node = tree.nodes.get(key);
  if (!node) throw new Error(`the file has no ${key}`);
  touched.add(rootNode(node));
  tree.nodes.delete(key);
  detach(tree, node);
}

/**
 * The parent inside which a new entity is written; null: the entity is written at the top of the file. An entity is
 * nested only if it has exactly one parent, and if this parent is required, is nested itself, already contains entities
 * of the collection, or has no name to refer to.
 */
function placeFor(tree: FileTree, { collection, entity }: Placed): NodeParent | null {
  const parents = references[collection].flatMap(({ member, to }): NodeParent[] => {
    const node = tree.nodes.get(nodeKey(to, idIn(entity, member) ?? ""));
    return node ? [{ node, member }] : [];
  });
  const [parent, second] = parents;
  if (!parent || second) return null;
  const { node } = parent;
  const nested = alwaysNested.has(collection) || node.parent !== null || node.children.has(collection);
  return nested || entityNameOf(node.collection, node.entity) === undefined ? parent : null;
}

function attach(tree: FileTree, node: FileNode, parent: NodeParent | null): void {
  node.parent = parent;
  if (!parent) tree.top[node.collection].push(node);
  else parent.node.children.set(node.collection, [...(parent.node.children.get(node.collection) ?? []), node]);
}

function detach(tree: FileTree, node: FileNode): void {
  const { collection, parent } = node;
  if (!parent) {
    const list = tree.top[collection];
    list.splice(list.indexOf(node), 1);
    return;
  }
  const others = (parent.node.children.get(collection) ?? []).filter((one) => one !== node);
  if (others.length === 0) parent.node.children.delete(collection);
  else parent.node.children.set(collection, others);
  node.parent = null;
}

/** Replaces the old name of a renamed entity in all references to it. */
function renameReferences(tree: FileTree, touched: TouchedNodes, { collection, entity }: FileNode): void {
  for (const node of tree.nodes.values()) {
    for (const { member, to } of references[node.collection]) {
      if (to !== collection || idIn(node.entity, member) !== entity.id || node.parent?.member === member) continue;
      const written = node.members[member];
      const byId = String(Object(written).id ?? written).toLowerCase() === entity.id;
      if (byId) continue;
      node.members = { ...node.members, [member]: referenceText(tree, to, entity.id) } as Members;
      touched.add(rootNode(node));
    }
  }
}
