/** RequestMirror: another backend that receives copies of requests. */
import type { BackendReference } from "../gateway-api.ts";

export interface MirrorFilter {
  readonly ref: BackendReference;
  /** The part of the requests that is mirrored: from 0 to 100. */
  readonly percentage: number;
  /** The path of the reference in the route. */
  readonly source: string;
}

/** @param at The path of the filter in the route */
export function mirrorOf(filter: unknown, at: string): MirrorFilter {
  const { backendRef, percent, fraction } = Object(filter) as {
    readonly backendRef: BackendReference;
    readonly percent?: number;
    readonly fraction?: { readonly numerator: number; readonly denominator?: number };
  };
  const part = fraction && (fraction.numerator / (fraction.denominator ?? 100)) * 100;
  return { ref: backendRef, percentage: percent ?? part ?? 100, source: `${at}.requestMirror.backendRef` };
}
