/** Counts by name: plain data, which workers send. */
export type ServiceStats = Readonly<Record<string, number>>

/** Adds the counts of several processes up, name by name. */
export function sumStats(all: readonly ServiceStats[]): ServiceStats {
  const sums = new Map<string, number>()
  for (const stats of all) {
    for (const [name, value] of Object.entries(stats)) sums.set(name, (sums.get(name) ?? 0) + value)
  }
  return Object.fromEntries(sums)
}

/** Converts a name to the form that counts have. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
