/**
 * Formats errors for the log. Only listed members are logged, because libraries attach secrets to theirs. ioredis
 * attaches the failed command, whose arguments include the password of AUTH or HELLO; pg's pool the whole connection;
 * `new URL` its input.
 */
import { pino } from "pino";

/** Members that classify errors of Node, Fastify and Postgres. */
const members = ["code", "errno", "syscall", "address", "port", "statusCode", "severity", "routine"] as const;

/** Redis repeats the arguments of an unknown command, and some versions do not know HELLO or AUTH. */
const ARGUMENTS = /(, with args beginning with: ).*/g;

const withoutArguments = (text: string): string => text.replace(ARGUMENTS, "$1[redacted]");

/** A serializer for pino: type, message and stack, also of the causes, and the listed members. */
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
