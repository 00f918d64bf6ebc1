/** A part of an address as it was meant; one that is badly escaped as it stands. */
export function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
