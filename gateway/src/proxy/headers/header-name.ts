/** Lower-cases a header name. The return type prevents lookups with configured names in other cases. */
export const lowerCase = (name: string): Lowercase<string> => name.toLowerCase() as Lowercase<string>;

/** A header name with its derived forms, computed once, for headers that are used in every request. */
export class HeaderName {
  readonly name: string;
  readonly lower: string;
  /** Precedes the value in a head, where each line begins with the line end of the one before. */
  readonly linePrefix: string;

  constructor(name: string) {
    this.name = name;
    this.lower = name.toLowerCase();
    this.linePrefix = `\r\n${name}: `;
  }

  /** The header with this value as a line of a head. */
  line(value: string): string {
    return this.linePrefix + value;
  }
}

/** A header whose value rarely changes between requests: the last line is cached. */
export class CachedLineHeaderName extends HeaderName {
  #value = "";
  #line = this.linePrefix;

  override line(value: string): string {
    if (value !== this.#value) {
      this.#value = value;
      this.#line = this.linePrefix + value;
    }
    return this.#line;
  }
}
