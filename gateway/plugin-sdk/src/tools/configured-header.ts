/** Headers whose names are configured. */
import type { ExchangeRequest } from "../exchange/exchange.ts";
import { lowerCase } from "../exchange/header-name.ts";

/** The name with underscores replaced by dashes. */
export const withDashes = (name: string): string => name.replaceAll("_", "-");

/**
 * All values of a header. If its name has underscores and the request does not have the header, the values of the
 * header whose name has dashes instead are returned, as in Kong (OpenResty, ngx.req.get_headers).
 */
export function headerValuesOf(request: ExchangeRequest, name: string): readonly string[] {
  const values = request.headerValues(lowerCase(name));
  return values.length > 0 || !name.includes("_") ? values : request.headerValues(lowerCase(withDashes(name)));
}
