/** Records of requests as syslog messages (RFC 5424), with Kong's severities by status. */
import { hostname } from "node:os";
import { choice, type MemberOptions } from "../schema/member.ts";

/** By descending urgency; the index is the number in RFC 5424 section 6.2.1. */
export const severities = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"] as const;
export type Severity = (typeof severities)[number];

const severity = (description: MemberOptions["description"]) =>
  choice(severities.toReversed(), { description, default: "info" });

/** Members for the config of a plugin that sends syslog messages. */
export const severityMembers = {
  log_level: severity("The least urgent severity that is sent."),
  successful_severity: severity("The severity of responses with a status below 400."),
  client_errors_severity: severity("The severity of responses with a status from 400 to 499."),
  server_errors_severity: severity("The severity of responses with a status of 500 or above."),
};

export type SeverityConfig = { readonly [Name in keyof typeof severityMembers]: Severity };

/** The number of the severity of a record; null: it is less urgent than the log level. */
export function severityOf(status: number, config: SeverityConfig): number | null {
  const { successful_severity, client_errors_severity, server_errors_severity } = config;
  const name = status >= 500 ? server_errors_severity : status >= 400 ? client_errors_severity : successful_severity;
  const number = severities.indexOf(name);
  return number > severities.indexOf(config.log_level) ? null : number;
}

export interface SyslogRecord {
  /** Number of the facility (RFC 5424 section 6.2.1). */
  readonly facility: number;
  readonly severity: number;
  /** Unix milliseconds. */
  readonly time: number;
  /** `-` for none. */
  readonly structuredData: string;
  readonly message: string;
}

/** Read once: it takes a system call. */
const host = hostname();

/** The Unix second for which `lastTimestamp` was computed. */
let lastSecond = Number.NaN;
let lastTimestamp = "";

/** The time in RFC 3339, without fractions of a second. Cached, because many messages have the same second. */
function timestampOf(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000);
  if (second !== lastSecond) {
    lastTimestamp = new Date(second * 1000).toISOString().replace(".000", "");
    lastSecond = second;
  }
  return lastTimestamp;
}

/** The application is called kong, as in Kong: filters of syslog servers depend on it. */
export const syslogMessage = ({ facility, severity, time, structuredData, message }: SyslogRecord): string =>
  `<${facility * 8 + severity}>1 ${timestampOf(time)} ${host} kong - - ${structuredData} ${message}`;
