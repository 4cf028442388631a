/** URLs of connections to explain: `tcp://10.0.0.7:9100` and `tls://mail.example:9443`. */

/** The destination of a connection, as the URL of a description names it. */
export interface ConnectionUrl {
  readonly isTls: boolean;
  /** Address of the node, without brackets, or the server name. */
  readonly host: string;
  readonly port: number;
}

const CONNECTION_FORM = /^(tcp|tls):\/\/(?:\[([\da-fA-F:.]+)\]|([^\s/?#:@[\]\p{Cc}]+)):(\d{1,5})$/u;

/** Null: the URL is that of a request. */
export function connectionUrlOf(url: string): ConnectionUrl | null {
  const [, scheme, address, name = "", digits] = CONNECTION_FORM.exec(url) ?? [];
  const port = Number(digits);
  return port >= 1 && port <= 65_535 ? { isTls: scheme === "tls", host: address ?? name, port } : null;
}
