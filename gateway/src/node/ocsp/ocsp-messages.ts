/**
 * Requests and responses of OCSP (RFC 6960). Imported only once a certificate needs a response, because of the ASN.1
 * library.
 */
import { hash, type KeyObject, verify, X509Certificate } from "node:crypto";
import {
  BasicOCSPResponse,
  CertID,
  id_pkix_ocsp_basic,
  OCSPRequest,
  OCSPResponse,
  Request,
  TBSRequest,
} from "@peculiar/asn1-ocsp";
import { AsnConvert, OctetString } from "@peculiar/asn1-schema";
import { AlgorithmIdentifier, Certificate } from "@peculiar/asn1-x509";
import type { OcspSubject } from "./ocsp-subject.ts";

/** A response that may be stapled. Times are in Unix milliseconds. */
export interface ValidResponse {
  /** `nextUpdate` of the response. */
  readonly expires: number;
}

/** Why a response may not be stapled. */
export interface RefusedResponse {
  readonly fault: string;
}

/** Of certificates in requests. Responders need not support others (RFC 5019 section 2.1.1); no security depends on it. */
const SHA1 = "1.3.14.3.2.26";
/** The extended key usage OCSPSigning. */
const OCSP_SIGNING = "1.3.6.1.5.5.7.3.9";
/** Digests by the object identifiers of signature algorithms; null: the algorithm includes one. */
const digests: Readonly<Record<string, string | null>> = {
  "1.2.840.113549.1.1.11": "sha256",
  "1.2.840.113549.1.1.12": "sha384",
  "1.2.840.113549.1.1.13": "sha512",
  "1.2.840.10045.4.3.2": "sha256",
  "1.2.840.10045.4.3.3": "sha384",
  "1.2.840.10045.4.3.4": "sha512",
  "1.3.101.112": null,
};
/** The values of OCSPResponseStatus without a response (RFC 6960 section 4.2.1). */
const errors: Readonly<Record<number, string>> = {
  1: "malformedRequest",
  2: "internalError",
  3: "tryLater",
  5: "sigRequired",
  6: "unauthorized",
};
/** Milliseconds by which the clocks of a responder and of the node may differ. */
const CLOCK_SKEW = 300_000;
/** Maximum number of certificates in a response that are tried as its signer. */
const MAX_SIGNERS = 4;

/** The request for the status of one certificate, in DER. */
export function ocspRequest(subject: OcspSubject): Buffer {
  const { hashAlgorithm, nameHash, keyHash, serialNumber } = certificateIdOf(subject);
  const reqCert = new CertID({
    hashAlgorithm: new AlgorithmIdentifier({ algorithm: hashAlgorithm, parameters: null }),
    issuerNameHash: new OctetString(nameHash),
    issuerKeyHash: new OctetString(keyHash),
    serialNumber,
  });
  const request = new OCSPRequest({ tbsRequest: new TBSRequest({ requestList: [new Request({ reqCert })] }) });
  return Buffer.from(AsnConvert.serialize(request));
}

/**
 * Whether a response (DER) says that the certificate is valid now, and is signed by its issuer or by a responder that
 * the issuer has authorized (RFC 6960 section 3.2).
 */
export function checkOcspResponse(bytes: Buffer, subject: OcspSubject, now: number): ValidResponse | RefusedResponse {
  const basic = readBasicResponse(bytes);
  if ("fault" in basic) return basic;
  const { tbsResponseData, tbsResponseDataRaw, signatureAlgorithm, signature, certs = [] } = basic;
  const digest = digests[signatureAlgorithm.algorithm];
  if (digest === undefined || tbsResponseDataRaw === undefined)
    return { fault: `the response is signed with an unsupported algorithm (${signatureAlgorithm.algorithm})` };
  const signed = { bytes: Buffer.from(tbsResponseDataRaw), digest, signature: Buffer.from(signature) };
  const delegates = certs
    .slice(0, MAX_SIGNERS)
    .map((one) => new X509Certificate(Buffer.from(AsnConvert.serialize(one))));
  const isSigned = [subject.issuer, ...delegates.filter((one) => isAuthorized(one, subject.issuer, now))].some(
    ({ publicKey }) => isSignedBy(publicKey, signed),
  );
  if (!isSigned)
    return { fault: "the response is signed neither by the issuer nor by a responder that the issuer has authorized" };
  const asked = certificateIdOf(subject);
  const found = tbsResponseData.responses.find(({ certID }) => isEqual(certID, asked));
  if (found === undefined) return { fault: "the response is about another certificate" };
  const { certStatus, thisUpdate, nextUpdate } = found;
  if (certStatus.revoked !== undefined)
    return { fault: `the certificate was revoked at ${certStatus.revoked.revocationTime.toISOString()}` };
  if (certStatus.good === undefined) return { fault: "the responder does not know the certificate" };
  if (thisUpdate.getTime() > now + CLOCK_SKEW)
    return { fault: `the response is valid only from ${thisUpdate.toISOString()}` };
  if (nextUpdate === undefined) return { fault: "the response does not say until when it is valid (nextUpdate)" };
  if (nextUpdate.getTime() <= now) return { fault: `the response has expired at ${nextUpdate.toISOString()}` };
  return { expires: nextUpdate.getTime() };
}

function readBasicResponse(bytes: Buffer): BasicOCSPResponse | RefusedResponse {
  try {
    const { responseStatus, responseBytes } = AsnConvert.parse(bytes, OCSPResponse);
    if (responseBytes === undefined)
      return { fault: `the responder answers with the error ${errors[responseStatus] ?? responseStatus}` };
    if (responseBytes.responseType !== id_pkix_ocsp_basic)
      return { fault: `the response has the unknown type ${responseBytes.responseType}` };
    return AsnConvert.parse(responseBytes.response.buffer, BasicOCSPResponse);
  } catch (error) {
    return { fault: `the response cannot be read: ${(error as Error).message}` };
  }
}

interface CertificateId {
  readonly hashAlgorithm: string;
  readonly nameHash: Buffer;
  readonly keyHash: Buffer;
  readonly serialNumber: ArrayBuffer;
}

function certificateIdOf({ certificate, issuer }: OcspSubject): CertificateId {
  const { serialNumber, issuer: name } = AsnConvert.parse(certificate.raw, Certificate).tbsCertificate;
  const { subjectPublicKey } = AsnConvert.parse(issuer.raw, Certificate).tbsCertificate.subjectPublicKeyInfo;
  const sha1 = (bytes: ArrayBuffer) => hash("sha1", Buffer.from(bytes), "buffer");
  return {
    hashAlgorithm: SHA1,
    nameHash: sha1(AsnConvert.serialize(name)),
    keyHash: sha1(subjectPublicKey),
    serialNumber,
  };
}

const isEqual = (given: CertID, asked: CertificateId): boolean =>
  given.hashAlgorithm.algorithm === asked.hashAlgorithm &&
  asked.nameHash.equals(Buffer.from(given.issuerNameHash.buffer)) &&
  asked.keyHash.equals(Buffer.from(given.issuerKeyHash.buffer)) &&
  Buffer.from(asked.serialNumber).equals(Buffer.from(given.serialNumber));

/** Whether the issuer has authorized another certificate to sign responses (RFC 6960 section 4.2.2.2). */
const isAuthorized = (signer: X509Certificate, issuer: X509Certificate, now: number): boolean =>
  signer.keyUsage?.includes(OCSP_SIGNING) === true &&
  signer.checkIssued(issuer) &&
  signer.verify(issuer.publicKey) &&
  signer.validFromDate.getTime() <= now + CLOCK_SKEW &&
  signer.validToDate.getTime() > now;

interface Signed {
  readonly bytes: Buffer;
  readonly digest: string | null;
  readonly signature: Buffer;
}

function isSignedBy(key: KeyObject, { bytes, digest, signature }: Signed): boolean {
  try {
    return verify(digest, bytes, key, signature);
  } catch {
    // The key is not of the kind of the signature.
    return false;
  }
}
