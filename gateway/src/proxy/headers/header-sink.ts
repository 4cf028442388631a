/** Receives headers one by one, as the text of a head or as a list. */
import type { HeaderName } from "../../exchange/header-name.ts";

export interface HeaderSink {
  add(header: HeaderName, value: string): void;
}

/** Flat list: name, value, name, value. */
export class HeaderList implements HeaderSink {
  readonly headers: string[] = [];

  add({ name }: HeaderName, value: string): void {
    this.headers.push(name, value);
  }
}
