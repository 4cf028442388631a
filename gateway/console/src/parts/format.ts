/** Numbers, sizes and values as texts. */

export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB"];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  return `${value >= 100 || power === 0 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

/** Requests per second. */
export function formatRate(rate: number): string {
  if (rate === 0) return "0";
  if (rate < 0.1) return "< 0.1";
  return rate < 10 ? rate.toFixed(1) : Math.round(rate).toLocaleString("en");
}

export function formatDuration(value: number | null): string {
  if (value === null) return "–";
  if (value >= 1000) return `${(value / 1000).toFixed(1)} s`;
  if (value > 0 && value < 0.1) return `${value.toFixed(2)} ms`;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}

export const formatShare = (share: number): string =>
  share === 0 ? "0 %" : share < 0.001 ? "< 0.1 %" : `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;

/** A value of an entity as one line of text. */
export function formatValue(value: unknown): string {
  if (value === null || value === undefined || value === "") return "–";
  if (Array.isArray(value)) return value.length === 0 ? "–" : value.map(formatValue).join(", ");
  if (typeof value !== "object") return String(value);
  const members = Object.entries(value);
  // A reference to another entity.
  return members.length === 1 && members[0]?.[0] === "id" ? String(members[0][1]) : JSON.stringify(value);
}

export const countWithNoun = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** A time in milliseconds as a date and a time of day, in UTC. */
export const formatTime = (time: number): string => new Date(time).toISOString().slice(0, 19).replace("T", " ");
