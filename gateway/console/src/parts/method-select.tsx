/** Chooses the method of a request. */

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

interface MethodSelectProps {
  readonly id: string;
  /** May be a method that the list does not offer, if the page explains a request that a client sent. */
  readonly value: string;
  readonly onChange: (method: string) => void;
}

export const MethodSelect = ({ id, value, onChange }: MethodSelectProps) => (
  <div class="field method">
    <label for={id}>Method</label>
    <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      {[...new Set([...methods, value])].map((one) => (
        <option key={one}>{one}</option>
      ))}
    </select>
  </div>
);
