/** pathText spells a path into a value as one would write it: `.descriptors[1].key`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')
}
