/** The two spellings of a member: `strip_path` in documents and the admin API, `stripPath` in custom resources. */

/** `strip_path` -> `stripPath`. */
export const toCamel = (name: string): string =>
  name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** `stripPath` -> `strip_path`; undoes `toCamel` for every member of the model. */
export const toSnake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
