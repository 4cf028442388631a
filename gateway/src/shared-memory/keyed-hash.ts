/**
 * A keyed hash of 128 bits: two HalfSipHash-1-3 (Aumasson and Bernstein, https://github.com/veorq/SipHash) with
 * separate keys. The key is random for every node; a client that does not know it cannot construct collisions.
 */

export const HASH_KEY_WORDS = 4;

/**
 * @param key HASH_KEY_WORDS words.
 * @returns four words
 */
export function keyedHash(text: string, key: Uint32Array): Int32Array {
  const [k0 = 0, k1 = 0, k2 = 0, k3 = 0] = key;
  const words = new Int32Array(4);
  lane(text, [k0, k1], words.subarray(0, 2));
  lane(text, [k2, k3], words.subarray(2));
  return words;
}

/**
 * Writes one HalfSipHash of the text to `into`. The state is in local variables, which stay in registers; members of an
 * object would make the hash several times slower.
 */
function lane(text: string, [k0, k1]: readonly [number, number], into: Int32Array): void {
  let v0 = k0 | 0;
  let v1 = k1 ^ 0xee;
  let v2 = 0x6c796765 ^ k0;
  let v3 = 0x74656462 ^ k1;
  const { length } = text;
  // Two UTF-16 code units per block, then the length, then finalization: three rounds for each of the two words of the
  // result.
  const pairs = (length + 1) >>> 1;
  for (let at = 0; at < pairs + 7; at++) {
    let word = 0;
    if (at < pairs) {
      const unit = at << 1;
      word = text.charCodeAt(unit) | (unit + 1 < length ? text.charCodeAt(unit + 1) << 16 : 0);
    } else if (at === pairs) word = length;
    else if (at === pairs + 1) v2 ^= 0xee;
    else if (at === pairs + 4) {
      into[0] = v1 ^ v3;
      v1 ^= 0xdd;
    }
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
  }
  into[1] = v1 ^ v3;
}
