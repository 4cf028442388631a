/** Templates in a plugin's config: text with expressions in `$( )`, such as `Bearer $(headers.apikey)`. */
import type { Checked } from "../violation.ts";
import { type Evaluate, MAX_RENDERED, parseExpression, TemplateError, type TemplateScope } from "./expression.ts";
import { UnsupportedExpression } from "./tokens.ts";

/** Maximum characters of a template. */
export const MAX_TEMPLATE = 4096;

export interface Template {
  /** The text of the template, the same for every request; null if the template contains expressions. */
  readonly constant: string | null;
  /** A byte string: one character per byte. nil and false become "". Throws TemplateError. */
  render(scope: TemplateScope): string;
}

const understood =
  "expressions may contain headers.x, query_params.x, uri_captures.x and shared.x, also as headers['x'] and uri_captures[1]; strings, nil, true, " +
  "false; or, and, not, ==, ~=, ..; parentheses; :sub(i, j), :lower(), :upper()";

/** An unsupported or too long template has one violation with an empty path. */
export function parseTemplate(source: string): Checked<Template> {
  if (source.length > MAX_TEMPLATE) return invalid(`template longer than ${MAX_TEMPLATE} characters`);
  try {
    return { value: templateOf(pieces(byteString(source))) };
  } catch (error) {
    if (!(error instanceof UnsupportedExpression)) throw error;
    return invalid(`unsupported template: ${error.message}; ${understood}`);
  }
}

const invalid = (message: string) => ({ violations: [{ path: [], message }] });

type Piece = string | Evaluate;

function pieces(text: string): readonly Piece[] {
  const found: Piece[] = [];
  let at = 0;
  for (let opening = text.indexOf("$("); opening !== -1; opening = text.indexOf("$(", at)) {
    if (opening > at) found.push(text.slice(at, opening));
    const { evaluate, end } = parseExpression(text, opening + 2);
    found.push(evaluate);
    at = end;
  }
  if (at < text.length) found.push(text.slice(at));
  return found;
}

function templateOf(parts: readonly Piece[]): Template {
  if (parts.every((part) => typeof part === "string")) {
    const constant = parts.join("");
    return { constant, render: () => constant };
  }
  return {
    constant: null,
    render(scope) {
      let rendered = "";
      for (const part of parts) rendered += typeof part === "string" ? part : shown(part(scope));
      if (rendered.length > MAX_RENDERED) throw new TemplateError(`the result is longer than ${MAX_RENDERED} bytes`);
      return rendered;
    },
  };
}

const shown = (value: ReturnType<Evaluate>): string =>
  typeof value === "string" ? value : value === true ? "true" : "";

const NOT_ASCII = /[\u0080-\uffff]/;

/** The UTF-8 bytes of a text, one character per byte, as expressions and headers have them. */
export const byteString = (text: string): string =>
  NOT_ASCII.test(text) ? Buffer.from(text, "utf8").toString("latin1") : text;

/** The reverse of `byteString`: the text that the UTF-8 bytes encode. */
export const textOfBytes = (bytes: string): string =>
  NOT_ASCII.test(bytes) ? Buffer.from(bytes, "latin1").toString("utf8") : bytes;
