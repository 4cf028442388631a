/** The form in which addresses are compared: two are one when they have the same key. */
import { domainToASCII, domainToUnicode } from "node:url";

/**
 * Text in one form, however its letters and accents are written. Small letters alone do not tell: ΐ has no capital
 * letter in one piece, ß has two capital ones, s and ſ have the same. Between small and capital letters comes the
 * composed form (NFC), which neither keeps.
 *
 * Made here and not by the database, whose lower() depends on its locale.
 */
const folded = (text: string): string =>
  text
    .normalize("NFC")
    // First the small letters: some capital ones, as ẞ, are no other's capital letter.
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .normalize("NFC")
    // A capital Σ has two small letters, one of them for the end of words.
    .replaceAll("ς", "σ");

/** Domains of these characters alone are written in one way, but for capital letters and for labels in Punycode. */
const PLAIN = /^(?!.*xn--)[\x21-\x7e]*$/i;

/** What divides the parts of a URL (WHATWG URL, forbidden host code points): `domainToASCII` reads no further, or decodes. */
const DIVIDERS = /[\s#/:<>?@[\\\]^|%]/;

/**
 * A domain in ASCII and small letters, as it is asked for in the DNS (UTS 46, ToASCII), after compatibility forms such
 * as full-width letters were replaced (NFKC). Null: it is none.
 */
export function asciiDomain(domain: string): string | null {
  // Unicode keeps the ideographic full stop, which IDNA takes for a dot.
  const compatible = domain.normalize("NFKC").replaceAll("。", ".");
  if (PLAIN.test(compatible)) return compatible.toLowerCase();
  if (DIVIDERS.test(compatible)) return null;
  return domainToASCII(compatible) || null;
}

/** Domains that differ by ß and ss or by ς and σ are one, as local parts are. */
function domainKey(domain: string): string {
  const ascii = asciiDomain(domain);
  if (ascii === null) return folded(domain);
  if (PLAIN.test(ascii)) return ascii;
  const unicode = folded(domainToUnicode(ascii) || ascii);
  return asciiDomain(unicode) ?? unicode;
}

/**
 * An address whose local part is folded and whose domain is in ASCII. Whoever changes it adds a step to the migrations
 * that makes all keys anew.
 */
export function emailKey(email: string): string {
  const at = email.lastIndexOf("@") + 1;
  return folded(email.slice(0, at)) + domainKey(email.slice(at));
}

/**
 * The form of the versions before step 3 of the migrations. While a rolling update goes on, their replicas make keys by
 * it that step 3 does not find any more, so that adding an address looks for this form too. Until a later step makes all
 * keys anew once more: by then no replica of those versions is left.
 */
export const formerEmailKey = folded;
