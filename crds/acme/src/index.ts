/**
 * Orders certificates from CAs (ACME, RFC 8555) and renews them (RFC 9773). The operator and the gateway use it. They
 * decide which process orders, where it stores accounts, states and certificates, and how nodes get the challenges.
 */
export { type AcmeOrders, type AcmeOrdersOptions, createAcmeOrders } from "./orders.ts";
export type {
  AcmeAccount,
  AcmeClock,
  AcmeLog,
  AcmeState,
  AcmeStorage,
  OrderedCertificate,
} from "./types.ts";
