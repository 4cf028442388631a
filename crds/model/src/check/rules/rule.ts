/** Checks one string; returns an error message, or undefined if the string is valid. */
export type TextRule = (value: string) => string | undefined;
