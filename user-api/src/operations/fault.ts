/**
 * What the log says of an error. Its members are chosen by name, because libraries hang on theirs whatever they have at
 * hand: ioredis the command that failed, whose arguments are the password when it was AUTH or HELLO; pg's pool the
 * whole connection; `new URL` the text that it was given.
 */
import { pino } from "pino";

/** What names the kind of an error, of Node, Fastify and Postgres. */
const members = ["code", "errno", "syscall", "address", "port", "statusCode", "severity", "routine"] as const;

/** Redis repeats the arguments of a command that it does not have, as some do not have HELLO or AUTH. */
const ARGUMENTS = /(, with args beginning with: ).*/g;

const withoutArguments = (text: string): string => text.replace(ARGUMENTS, "$1[redacted]");

/** A serializer of pino: type, words and stack, those of the causes too, and the members that may be told. */
export function faultOf(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { message: withoutArguments(String(error)) };
  const { type, message, stack } = pino.stdSerializers.err(error);
  const told = members.filter((name) => name in error).map((name) => [name, Reflect.get(error, name)]);
  return {
    type,
    message: withoutArguments(message),
    stack: withoutArguments(stack),
    ...(error instanceof AggregateError ? { aggregateErrors: error.errors.map(faultOf) } : {}),
    ...Object.fromEntries(told),
  };
}
