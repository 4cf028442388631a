/** The form in which email addresses are compared: addresses with the same key are equal. */
import { domainToASCII, domainToUnicode } from "node:url";

/**
 * Case folding that also unifies composed and decomposed accents. Lower case alone is not enough: ΐ has no upper case
 * in one code point, ß has two upper-case forms, and s and ſ share one. The composed form (NFC) is restored between
 * the conversions, because case conversion does not preserve it.
 *
 * Done here and not by the database, whose lower() depends on its locale.
 */
const folded = (text: string): string =>
  text
    .normalize("NFC")
    // Lower case first: some capital letters, such as ẞ, are not the upper case of any letter.
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .normalize("NFC")
    // Σ has two lower-case forms, one of them for the end of words.
    .replaceAll("ς", "σ");

/** Printable ASCII without labels in Punycode: such a domain has one spelling, apart from case. */
const PLAIN = /^(?!.*xn--)[\x21-\x7e]*$/i;

/** Delimiters of a URL (WHATWG URL, forbidden host code points): `domainToASCII` stops at them, or decodes them. */
const DIVIDERS = /[\s#/:<>?@[\\\]^|%]/;

/**
 * A domain in lower-case ASCII, as in DNS queries (UTS 46, ToASCII), after NFKC has replaced compatibility forms such
 * as full-width letters. Null: not a domain; this is checked only if the text is not plain ASCII.
 */
export function asciiDomain(domain: string): string | null {
  // NFKC keeps the ideographic full stop, which IDNA treats as a dot.
  const compatible = domain.normalize("NFKC").replaceAll("。", ".");
  if (PLAIN.test(compatible)) return compatible.toLowerCase();
  if (DIVIDERS.test(compatible)) return null;
  return domainToASCII(compatible) || null;
}

/** Domains that differ only by ß and ss, or by ς and σ, are equal, like local parts. */
function domainKey(domain: string): string {
  const ascii = asciiDomain(domain);
  if (ascii === null) return folded(domain);
  if (PLAIN.test(ascii)) return ascii;
  const unicode = folded(domainToUnicode(ascii) || ascii);
  return asciiDomain(unicode) ?? unicode;
}

/**
 * An address with a folded local part and an ASCII domain. A change to this function needs a new migration step that
 * computes all keys again.
 */
export function emailKey(email: string): string {
  const at = email.lastIndexOf("@") + 1;
  return folded(email.slice(0, at)) + domainKey(email.slice(at));
}

/**
 * The key of versions before step 3 of the migrations. During a rolling update their replicas still write such keys
 * after step 3 has run, so adding an address checks this form too. This form can be removed once no replica of those
 * versions runs any more, in a migration that computes all keys again.
 */
export const formerEmailKey = folded;
