import { useEffect } from 'preact/hooks'
import { place, setQuery } from '../state/router.ts'

/** useNewParam opens a form when the address asks for one, as links and the palette do with ?new=, and the session may use it. */
export function useNewParam(why: string | undefined, open: (asked: string) => void): void {
  const asked = place.value.query.get('new')
  const isAllowed = why === undefined
  useEffect(() => {
    if (asked === null || !isAllowed) return
    open(asked)
    setQuery({ new: undefined })
  }, [asked, isAllowed])
}
