/** The form in which the gateway sends a path. */

/**
 * Characters that are sent as %XX: all outside the set that Kong sends unescaped. `%` is in the set, because
 * normalisation keeps some escapes on purpose.
 */
const UNSAFE = /[^!#$&'()*+,/:;=?@[\]A-Za-z0-9\-_.~%]+/g;

/** A normalised path, such as `request.path`, in the form in which it is sent. */
export const escapePath = (path: string): string => path.replace(UNSAFE, encodeURIComponent);
