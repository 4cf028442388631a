/** A header's name as requests are asked for it: the type keeps names of a configuration from being used as they are. */
export const lowerCase = (name: string): Lowercase<string> => name.toLowerCase() as Lowercase<string>;

/** A header's name as it is written and looked for with every request: what follows from it is made once. */
export class HeaderName {
  readonly name: string;
  readonly lower: string;
  /** What goes before the value in a head, where each line begins with the end of the one before. */
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

/** A header whose value is mostly that of the request before: its last line is kept. */
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
