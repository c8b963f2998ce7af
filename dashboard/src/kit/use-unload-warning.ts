import { useEffect } from 'preact/hooks'

/** useUnloadWarning has the browser ask before the page is left, while something would be lost. */
export function useUnloadWarning(isLosing: boolean): void {
  useEffect(() => {
    if (!isLosing) return
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [isLosing])
}
