/**
 * The form in which addresses are compared: two are one when they are the same in small or in capital letters, however
 * accents are written. Small letters alone do not tell: ΐ has no capital letter in one piece, ß has two capital ones, s
 * and ſ have the same. Between small and capital letters comes the composed form (NFC), which neither keeps.
 *
 * Made here and not by the database, whose lower() depends on its locale. Whoever changes it adds a step to the
 * migrations that makes all keys anew.
 */
export const emailKey = (email: string): string =>
  email
    .normalize("NFC")
    // First the small letters: some capital ones, as ẞ, are no other's capital letter.
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .normalize("NFC")
    // A capital Σ has two small letters, one of them for the end of words.
    .replaceAll("ς", "σ");

/**
 * The form of the versions before step 2 of the migrations. While a rolling update goes on, their replicas make keys by
 * it that step 2 does not find any more, so who adds an address looks for this form too. Until a later step makes all
 * keys anew once more: by then no replica of those versions is left.
 */
export const formerEmailKey = (email: string): string => email.normalize("NFC").toLowerCase().replaceAll("ς", "σ");
