/** metadataText spells metadata as lines that can be edited: `billing id: cus_123`. */
export function metadataText(metadata: Readonly<Record<string, string>>): string {
  return Object.entries(metadata)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}

/** metadataOf reads lines of names and values. A line without a colon is returned as wrong. */
export function metadataOf(text: string): { readonly metadata: Record<string, string>; readonly wrong?: string } {
  const pairs: [string, string][] = []
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '') continue
    const at = line.indexOf(':')
    if (at < 1) return { metadata: {}, wrong: `“${line}” has no name before a colon.` }
    pairs.push([line.slice(0, at).trim(), line.slice(at + 1).trim()])
  }
  return { metadata: Object.fromEntries(pairs) }
}
