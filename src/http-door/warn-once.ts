const MOST = 100
const told = new Set<string>()

/** warnOnce tells the process each thing once: an outage fills logs quickly enough. */
export function warnOnce(text: string): void {
  if (told.has(text) || told.size >= MOST) return
  told.add(text)
  process.emitWarning(text, 'SluiceWarning')
}
