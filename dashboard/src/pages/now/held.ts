import { useRef, useState } from 'preact/hooks'
import { heldRows } from './callers.ts'

/** What an element listens to, to know whether the pointer or the focus is on it. */
interface Listeners {
  readonly onPointerEnter: () => void
  readonly onPointerLeave: () => void
  readonly onFocusIn: () => void
  readonly onFocusOut: () => void
}

/** useHeld keeps rows in their order while the pointer or the keyboard is on them. `name` says which rows: others are shown immediately. */
export function useHeld<Row>(
  name: string,
  rows: readonly Row[] | undefined,
  keyOf: (row: Row) => string,
): { readonly rows: readonly Row[] | undefined; readonly isHeld: boolean; readonly listeners: Listeners } {
  const [isPointed, setPointed] = useState(false)
  const [isFocused, setFocused] = useState(false)
  const shown = useRef<{ name: string; rows: readonly Row[] }>(undefined)
  const isHeld = isPointed || isFocused
  if (rows !== undefined) {
    const { current } = shown
    const isSame = current !== undefined && current.name === name && current.rows.length > 0
    shown.current = { name, rows: isHeld && isSame ? heldRows(current.rows, rows, keyOf) : rows }
  }
  return {
    rows: rows === undefined ? undefined : shown.current?.rows,
    isHeld,
    listeners: {
      onPointerEnter: () => setPointed(true),
      onPointerLeave: () => setPointed(false),
      onFocusIn: () => setFocused(true),
      onFocusOut: () => setFocused(false),
    },
  }
}
