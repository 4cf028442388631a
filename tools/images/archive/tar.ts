import { type TreeEntry, withParentFolders } from "./tree.ts";

const block = 512;

/**
 * A tar archive in the format of POSIX.1-2001 (ustar, with pax headers for long paths), as a list of buffers.
 *
 * The same entries give the same bytes: they are sorted, owned by 0:0 and dated 1970-01-01.
 */
export function tarArchive(entries: readonly TreeEntry[]): readonly Buffer[] {
  return [...withParentFolders(entries).flatMap(member), Buffer.alloc(2 * block)];
}

function member(entry: TreeEntry): readonly Buffer[] {
  const path = entry.kind === "folder" ? `${entry.path}/` : entry.path;
  const to = entry.kind === "link" ? entry.to : "";
  const long = [...longer("path", path), ...longer("linkpath", to)].join("");
  const before = long === "" ? [] : [header({ path: "pax", type: "x", size: Buffer.byteLength(long) }), ...body(long)];
  if (entry.kind === "link") return [...before, header({ path, type: "2", to, mode: 0o777 })];
  if (entry.kind === "folder") return [...before, header({ path, type: "5", mode: entry.mode })];
  const { mode, content } = entry;
  return [...before, header({ path, type: "0", mode, size: content.length }), ...body(content)];
}

/** Content, padded to whole blocks. */
function body(content: Buffer | string): readonly Buffer[] {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  const rest = bytes.length % block;
  return rest === 0 ? [bytes] : [bytes, Buffer.alloc(block - rest)];
}

/**
 * The pax record of a path that does not fit into the header: the record's own length in decimal, the key, the value.
 * An empty list if the path fits.
 */
function longer(key: string, value: string): readonly string[] {
  if (Buffer.byteLength(value) <= 100) return [];
  const rest = ` ${key}=${value}\n`;
  let length = Buffer.byteLength(rest);
  while (length < Buffer.byteLength(`${length}${rest}`)) length++;
  return [`${length}${rest}`];
}

interface Header {
  readonly path: string;
  /** 0 file, 2 symbolic link, 5 directory, x pax header of the next entry. */
  readonly type: string;
  readonly mode?: number;
  readonly size?: number;
  readonly to?: string;
}

function header({ path, type, mode = 0o644, size = 0, to = "" }: Header): Buffer {
  const bytes = Buffer.alloc(block);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  const put = (value: string, offset: number, room: number) => bytes.write(value, offset, room, "utf8");
  put(path, 0, 100);
  put(octal(mode, 7), 100, 8);
  put(octal(0, 7), 108, 8);
  put(octal(0, 7), 116, 8);
  put(octal(size, 11), 124, 12);
  put(octal(0, 11), 136, 12);
  put(" ".repeat(8), 148, 8);
  put(type, 156, 1);
  put(to, 157, 100);
  put("ustar\x0000", 257, 8);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  put(`${octal(sum, 6)} `, 148, 8);
  return bytes;
}
