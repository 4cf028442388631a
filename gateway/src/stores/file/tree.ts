/** A declarative file as a tree of its entities: their nesting, and how each is written. */
import { type Collection, checkEntity, collections, type Entity, writtenLists } from "@sluice/model";
import type { LoadedData } from "../../sources/file/read-file.ts";

export type Members = Readonly<Record<string, unknown>>;

/** One entity in the file. Changed in place: a tree belongs to one writer. */
export interface FileNode {
  readonly collection: Collection;
  entity: Entity;
  /** The value of the member `_sluice`, which is not part of the entity. */
  readonly extras: object | undefined;
  /** As written, without the lists of nested entities. */
  members: Members;
  readonly children: Map<Collection, FileNode[]>;
  parent: NodeParent | null;
}

export interface NodeParent {
  readonly node: FileNode;
  /** The reference to the parent: a member that a nested item omits. */
  readonly member: string;
}

export interface FileTree {
  /** All members of the file in order; for a list of entities, only its name. */
  readonly head: Map<string, unknown>;
  readonly top: Readonly<Record<Collection, FileNode[]>>;
  /** By `nodeKey`. */
  readonly nodes: Map<string, FileNode>;
}

export const nodeKey = (collection: Collection, id: string): string => `${collection} ${id}`;

export function buildFileTree({
  data,
  document,
  origins,
}: Pick<LoadedData, "data" | "document" | "origins">): FileTree {
  const filled = new Map<string, { readonly entity: Entity; readonly extras: object | undefined }>();
  for (const collection of collections) {
    for (const [index, item] of (document[collection] ?? []).entries()) {
      const { value } = checkEntity(collection, item);
      if (!value) throw new Error("an entity of a valid document is no longer valid");
      const { _sluice: extras, ...entity } = value as Entity & { readonly _sluice?: object };
      filled.set(pathKey(origins[collection][index] ?? []), { entity, extras });
    }
  }
  const nodes = new Map<string, FileNode>();

  function read(
    collection: Collection,
    list: unknown,
    at: { path: readonly (string | number)[]; parent?: NodeParent },
  ) {
    return (Array.isArray(list) ? list : []).map((raw: Members, index): FileNode => {
      const path = [...at.path, index];
      const known = filled.get(pathKey(path));
      if (!known) throw new Error(`the content at ${path.join(".")} is not in the parsed file`);
      const members: Record<string, unknown> = { ...raw };
      const node: FileNode = { ...known, collection, members, children: new Map(), parent: at.parent ?? null };
      for (const { list, child, member, value } of writtenLists(collection, raw)) {
        const children = read(child, value, { path: [...path, list], parent: { node, member } });
        if (children.length > 0) node.children.set(child, [...(node.children.get(child) ?? []), ...children]);
        delete members[list];
      }
      nodes.set(nodeKey(collection, node.entity.id), node);
      return node;
    });
  }

  const top = Object.fromEntries(
    collections.map((collection) => [collection, read(collection, data[collection], { path: [collection] })]),
  ) as Record<Collection, FileNode[]>;
  const head = new Map(Object.entries(data).map(([name, value]) => [name, isCollection(name) ? null : value]));
  return { head, top, nodes };
}

const pathKey = (path: readonly (string | number)[]): string => path.join("/");

export const isCollection = (name: string): name is Collection => collections.some((known) => known === name);

export function rootNode(node: FileNode): FileNode {
  let root = node;
  while (root.parent) root = root.parent.node;
  return root;
}

export function nodeData({ members, children }: FileNode): Members {
  const lists = [...children].map(([child, nodes]) => [child, nodes.map(nodeData)]);
  return { ...members, ...Object.fromEntries(lists) };
}
