/**
 * Remembers the properties of an object, and returns a function that puts them back. Properties that are new since then stay, as do those
 * that belong to the test runner.
 */
export function rememberProperties(target: object): () => void {
  const known = Object.entries(Object.getOwnPropertyDescriptors(target)).filter(([name]) => !name.startsWith('__'))
  return () => {
    for (const [name, was] of known) {
      const now = Object.getOwnPropertyDescriptor(target, name)
      if (now?.value === was.value && now?.get === was.get) continue
      if (now?.configurable !== false) Object.defineProperty(target, name, was)
    }
  }
}
