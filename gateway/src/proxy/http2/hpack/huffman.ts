/**
 * The Huffman code of HPACK (RFC 7541 section 5.2 and appendix B). The code is canonical: codes of one length are
 * consecutive in the order of the symbols, so the lengths define it.
 */

/** Bits of each symbol; the last one is EOS. */
// biome-ignore format: one row for 32 symbols
const LENGTHS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
  30,
];

const EOS = 256;
/** The shortest code has five bits, so four bits complete at most one symbol. */
const STEP = 4;
const BRANCHES = 1 << STEP;
const ROOT = 0;
/** Padding is shorter than a byte. */
const MOST_PADDING = 7;

/** In `steps`: the bits complete a symbol. */
const EMITS = 0x10000;
/** In `steps`: the bits are no prefix of a code, or complete EOS. */
const FAILS = 0x20000;

/**
 * Result of four bits at a node of the code's tree, at node * BRANCHES + bits: the next node, the completed symbol
 * shifted by eight bits, and EMITS or FAILS.
 */
const steps = new Uint32Array(EOS * BRANCHES);
/** 1 for nodes where a text may end: the bits since the last symbol are ones and fewer than eight (section 5.2). */
const mayEnd = new Uint8Array(EOS);

build();

function build(): void {
  // Inner nodes of the tree: children at node * 2 and node * 2 + 1; a symbol is stored as -1 - symbol.
  const children = new Int16Array(EOS * 2);
  let nodes = 1;
  const order = LENGTHS.map((_, symbol) => symbol).toSorted(
    (one, other) => (LENGTHS[one] ?? 0) - (LENGTHS[other] ?? 0) || one - other,
  );
  let code = 0;
  let before = 0;
  for (const symbol of order) {
    const length = LENGTHS[symbol] ?? 0;
    code <<= length - before;
    before = length;
    let node = ROOT;
    for (let bit = length - 1; bit > 0; bit--) {
      const at = node * 2 + ((code >> bit) & 1);
      if (children[at] === 0) children[at] = nodes++;
      node = children[at] ?? 0;
    }
    children[node * 2 + (code & 1)] = -1 - symbol;
    code++;
  }
  for (let node = 0; node < nodes; node++) {
    for (let bits = 0; bits < BRANCHES; bits++) steps[node * BRANCHES + bits] = stepOf(children, node, bits);
  }
  let padding = ROOT;
  mayEnd[ROOT] = 1;
  for (let ones = 0; ones < MOST_PADDING; ones++) {
    padding = children[padding * 2 + 1] ?? 0;
    mayEnd[padding] = 1;
  }
}

function stepOf(children: Int16Array, from: number, bits: number): number {
  let node = from;
  let emitted = 0;
  for (let bit = STEP - 1; bit >= 0; bit--) {
    const child = children[node * 2 + ((bits >> bit) & 1)] ?? 0;
    if (child === -1 - EOS) return FAILS;
    if (child < 0) emitted = EMITS | ((-1 - child) << 8);
    node = Math.max(child, ROOT);
  }
  return node | emitted;
}

/**
 * Decodes the bytes from `start` to `end` to `out`, from offset `at` on. `out` needs room for 8 bytes for each 5 bytes
 * of input.
 *
 * @returns The offset after the decoded bytes; -1: the code or its padding is invalid
 */
export function huffmanDecode(bytes: Buffer, { start, end }: { start: number; end: number }, out: Buffer, at: number) {
  let node = ROOT;
  let to = at;
  for (let from = start; from < end; from++) {
    const byte = bytes[from] ?? 0;
    const high = steps[node * BRANCHES + (byte >> STEP)] ?? FAILS;
    if ((high & EMITS) !== 0) out[to++] = high >> 8;
    const low = steps[(high & 0xff) * BRANCHES + (byte & (BRANCHES - 1))] ?? FAILS;
    if (((high | low) & FAILS) !== 0) return -1;
    if ((low & EMITS) !== 0) out[to++] = low >> 8;
    node = low & 0xff;
  }
  return mayEnd[node] === 1 ? to : -1;
}
