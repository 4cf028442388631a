/** What a parser makes of the bytes of a connection: messages, and why it stopped. */

export type Direction = "requests" | "responses";

export interface Message {
  /** Method and target, or status and reason. */
  readonly line: readonly [string, string];
  /** `1.1` */
  readonly version: string;
  /** Name, value, name, value, as they came. */
  readonly headers: readonly string[];
  /** Latin-1. */
  readonly body: string;
  readonly trailers: readonly string[];
  /** Whether another message may follow. */
  readonly keepAlive: boolean;
}

export interface Reading {
  /** Those that came as a whole. */
  readonly messages: readonly Message[];
  /** The head (without body) of the message that was under way; null when there was none, or not as a whole. */
  readonly open: Omit<Message, "body" | "trailers"> | null;
  /** all: every byte belongs to a message. more: bytes are missing. last: nothing may follow. refused: a fault. */
  readonly ending: "all" | "more" | "last" | "refused";
  /** Why it was refused. */
  readonly fault: string | null;
  /** Where the message begins that is not among `messages`. */
  readonly rest: number;
}
