/** A parser's result for the bytes of a connection: messages, and why it stopped. */

export type Direction = "requests" | "responses";

export interface ParsedMessage {
  /** Method and target, or status and reason. */
  readonly line: readonly [string, string];
  /** Such as `1.1`. */
  readonly version: string;
  /** Name, value, name, value, in the received order. */
  readonly headers: readonly string[];
  /** Latin-1. */
  readonly body: string;
  readonly trailers: readonly string[];
  /** Whether another message may follow. */
  readonly keepAlive: boolean;
}

export interface ParsedStream {
  /** The complete messages. */
  readonly messages: readonly ParsedMessage[];
  /** The head (without body) of the incomplete message; null when there is none or the head itself is incomplete. */
  readonly open: Omit<ParsedMessage, "body" | "trailers"> | null;
  /** all: every byte belongs to a message. more: bytes are missing. last: no message may follow. refused: a fault. */
  readonly ending: "all" | "more" | "last" | "refused";
  /** The reason for `refused`. */
  readonly fault: string | null;
  /** The offset of the first message that is not in `messages`; always 0 in a reading of Node's parser. */
  readonly rest: number;
}
