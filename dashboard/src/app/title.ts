import { useEffect } from 'preact/hooks'

/** useTitle names the page in the browser's tab and history, such as by the customer that it is about. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Sluice`
  }, [title])
}
