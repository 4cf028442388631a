/** Where headers are told one by one: a head as text, or a list. */
import type { HeaderName } from "./header-name.ts";

export interface HeaderSink {
  add(header: HeaderName, value: string): void;
}

/** Flat: name, value, name, value. */
export class HeaderList implements HeaderSink {
  readonly headers: string[] = [];

  add({ name }: HeaderName, value: string): void {
    this.headers.push(name, value);
  }
}
