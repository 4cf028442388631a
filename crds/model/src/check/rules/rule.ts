/** Checks one string; returns an error message or undefined. */
export type TextRule = (value: string) => string | undefined;
