/**
 * The contents of pushes and their bodies, computed once for all nodes that get the same push: many nodes run the same
 * document and need the same change.
 */
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import {
  type Change,
  changeBetween,
  compactChange,
  type Document,
  type PushChange,
  type PushDocument,
  type Snapshot,
  snapshotToDocument,
} from "@sluice/model";

const changes = new WeakMap<Snapshot, Map<string, Change>>();
let whole: { readonly snapshot: Snapshot; readonly document: Document } | undefined;

/** Returns the same object for the same two snapshots, as long as the later snapshot is referenced. */
export function sharedChange(previous: Snapshot, next: Snapshot): Change {
  const known = changes.get(next) ?? new Map<string, Change>();
  changes.set(next, known);
  const change = known.get(previous.hash) ?? compactChange(changeBetween(previous, next));
  known.set(previous.hash, change);
  return change;
}

/** Returns the same object until another snapshot is requested. */
export function sharedDocument(snapshot: Snapshot): Document {
  if (whole?.snapshot !== snapshot) whole = { snapshot, document: snapshotToDocument(snapshot) };
  return whole.document;
}

/** Minimum bytes of a body that is compressed: below this, compressing takes longer than it saves. */
const GZIP_THRESHOLD = 16 * 1024;
const zipped = promisify(gzip);

/** The last body of each document or change, with the other members of that push. */
const bodies = new WeakMap<object, { readonly place: string; readonly body: ReturnType<typeof encodeBody> }>();

/** JSON, compressed when it is large. */
async function encodeBody(push: PushDocument | PushChange) {
  const bytes = Buffer.from(JSON.stringify(push));
  if (bytes.length < GZIP_THRESHOLD) return { bytes, isZipped: false };
  return { bytes: await zipped(bytes, { level: constants.Z_BEST_SPEED }), isZipped: true };
}

/** Returns the same promise for consecutive equal pushes of the same `document` or `change` object. */
export function pushBodyOf(push: PushDocument | PushChange) {
  const content = "change" in push ? push.change : push.document;
  const place = JSON.stringify({ ...push, change: undefined, document: undefined });
  const known = bodies.get(content);
  if (known?.place === place) return known.body;
  const body = encodeBody(push);
  bodies.set(content, { place, body });
  return body;
}
