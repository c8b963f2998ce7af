const SPECIAL = /[\\"\n]/g
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' }

/** Formats labels as both text formats do: `domain="d",rule="r"`. */
export function labelsOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',')
}

function escaped(value: string): string {
  return value.replace(SPECIAL, (character) => ESCAPES[character])
}
