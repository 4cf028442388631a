/** The condition `Issued` of a Certificate with `acme`. Pure. */
import type { Condition } from "@sluice/crds";
import type { AcmeStatus } from "@sluice/model";

export type IssuedFinding = Pick<Condition, "status" | "reason" | "message">;

/** The type of the condition. */
export const ISSUED = "Issued";

export const notIssued = (reason: string, message: string): IssuedFinding => ({ status: "False", reason, message });

/** `now` is in Unix milliseconds. A valid certificate stays issued while its renewal fails. */
export function issuedFinding(status: AcmeStatus, now: number): IssuedFinding {
  const { state, domains, directory, not_after } = status;
  const isValid = not_after !== null && Date.parse(not_after) > now;
  const validity = isValid ? [`The certificate is valid until ${not_after}.`] : [];
  switch (state) {
    case "valid":
      return finding(isValid, "Issued", [
        ...validity,
        ...(status.renew_at ? [`It is renewed at ${status.renew_at}.`] : []),
      ]);
    case "ordering":
      return finding(isValid, isValid ? "Renewing" : "Ordering", [
        ...validity,
        `A certificate for ${domains.join(", ")} is being ordered from ${directory}.`,
      ]);
    case "refused":
      return finding(isValid, "Refused", [...validity, orderProblem(status)]);
    default:
      return finding(isValid, isValid ? "RenewalFailed" : "OrderFailed", [
        ...validity,
        orderProblem(status),
        ...(status.next_attempt ? [`The next attempt is at ${status.next_attempt}.`] : []),
      ]);
  }
}

/** Adds why the operator cannot read or write the Secrets of an order. @param found Undefined: nothing is known. */
export const withStorageFault = (found: IssuedFinding | undefined, fault: string): IssuedFinding => ({
  status: found?.status ?? "False",
  reason: "StorageFailed",
  message: [...(found ? [found.message] : []), `The operator cannot store the order: ${fault}`].join(" "),
});

const finding = (isValid: boolean, reason: string, sentences: readonly string[]): IssuedFinding => ({
  status: isValid ? "True" : "False",
  reason,
  message: sentences.filter((sentence) => sentence !== "").join(" "),
});

/** The problem as a sentence, with the type of the ACME server's problem document (RFC 8555, section 6.7). */
export function orderProblem({ error, failures }: Pick<AcmeStatus, "error" | "failures">): string {
  if (!error) return "";
  const detail = error.detail.replace(/\.?\s*$/, "");
  const type = error.type === null ? "" : ` (${error.type})`;
  const times = failures > 1 ? ` after ${failures} attempts` : "";
  return `${detail}${type}${times}.`;
}
