/** pairsOf reads lines of names and values, such as `billing id: cus_123`. A line without a name is reported as wrong. */
export function pairsOf(text: string): { readonly pairs: Readonly<Record<string, string>>; readonly wrong?: string } {
  const pairs: [string, string][] = []
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '') continue
    const at = line.indexOf(':')
    if (at < 1) return { pairs: {}, wrong: `“${line}” has no name before a colon.` }
    pairs.push([line.slice(0, at).trim(), line.slice(at + 1).trim()])
  }
  return { pairs: Object.fromEntries(pairs) }
}
