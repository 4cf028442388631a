/** Messages that a screen reader speaks: the result of an action, and the title of the page that a link opens. */
import { useEffect, useState } from "preact/hooks";

let speak: (message: string) => void = () => {};

export const announceToReader = (message: string): void => speak(message);

/** The live region. It exists once, from the start: screen readers ignore regions that are added with their text. */
export function Announcer() {
  const [message, setMessage] = useState("");
  useEffect(() => {
    speak = setMessage;
  }, []);
  return (
    <div class="sr-only" role="status" aria-live="polite">
      {message}
    </div>
  );
}
