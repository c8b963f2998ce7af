/** Formats a path into a value as code would write it: `.descriptors[1].key`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')
}
