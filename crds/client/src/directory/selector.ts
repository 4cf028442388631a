/** Label selectors of the simple kinds: `a`, `!a`, `a=b`, `a!=b`, and lists of them with commas. */
type Labels = Readonly<Record<string, string>>;

const part = /^\s*(!?)\s*([\w./-]+)\s*(?:(==|=|!=)\s*([\w.-]*)\s*)?$/;

/** Throws on selectors of other kinds (`a in (b, c)`). */
export function parseSelector(selector: string | undefined): (labels: Labels | undefined) => boolean {
  const wanted = (selector ? selector.split(",") : []).map((text) => {
    const [, negated, name = "", operator, value] = part.exec(text) ?? [];
    if (name === "" || (negated && operator)) throw new Error(`not a label selector that is read here: ${selector}`);
    return (labels: Labels) => {
      if (operator === undefined) return Object.hasOwn(labels, name) !== (negated === "!");
      return (labels[name] === value) !== (operator === "!=");
    };
  });
  return (labels = {}) => wanted.every((matches) => matches(labels));
}
