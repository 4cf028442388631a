/** Where headers are told one by one: a head as text, or a list. */
export interface HeaderSink {
  add(name: string, value: string): void;
}

/** Flat: name, value, name, value. */
export class HeaderList implements HeaderSink {
  readonly headers: string[] = [];

  add(name: string, value: string): void {
    this.headers.push(name, value);
  }
}
