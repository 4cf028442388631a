/** Checks what plugins answer with, because TypeScript checks neither packages in JavaScript nor values of the type any. */
import { isRecord, isToken } from "@sluice/plugin-sdk";

/**
 * Why a value is no `DirectResponse`, as the end of the sentence "a plugin answered with"; null: it is one. Members that
 * are null count as absent.
 */
export function responseFault(response: unknown): string | null {
  if (response instanceof Response) return "a Response: only middleware() of the plugin SDK accepts one";
  if (!isRecord(response))
    return `${nameOf(response)}: return an object such as { status: 403 }, or undefined to let the request pass`;
  const { status, headers, keptHeaders, body, json } = response;
  if (!Number.isInteger(status)) return `a status that is ${nameOf(status)}, not an integer`;
  if (isGiven(body) && typeof body !== "string" && !Buffer.isBuffer(body))
    return `a body that is ${nameOf(body)}, not a text or a Buffer`;
  if (isGiven(keptHeaders) && !isTexts(keptHeaders)) return "keptHeaders that are no list of texts";
  for (const member of ["message", "reason"] as const)
    if (isGiven(response[member]) && typeof response[member] !== "string")
      return `a ${member} that is ${nameOf(response[member])}, not a text`;
  return headersFault(headers) ?? jsonFault(json);
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every((one) => typeof one === "string");

function headersFault(headers: unknown): string | null {
  if (!isGiven(headers)) return null;
  if (!isRecord(headers)) return `headers that are ${nameOf(headers)}, not an object`;
  for (const [name, value] of Object.entries(headers)) {
    if (!isToken(name)) return `the header ${JSON.stringify(name)}, whose name is not valid`;
    if (typeof value !== "string" && !isTexts(value))
      return `the header ${name} that is ${nameOf(value)}, not a text or a list of texts`;
  }
  return null;
}

function jsonFault(json: unknown): string | null {
  if (!isGiven(json)) return null;
  try {
    JSON.stringify(json);
    return null;
  } catch (error) {
    return `json that cannot be written: ${String(Object(error).message ?? error).split("\n", 1)[0]}`;
  }
}

/** The value's kind for a message, without its content, which may be secret. */
function nameOf(value: unknown): string {
  if (value === null || value === undefined || typeof value === "boolean") return String(value);
  return typeof value === "object" ? `an object (${value.constructor?.name ?? "Object"})` : `a ${typeof value}`;
}
