import type { IconName } from '../ui/icon.tsx'

/** A Command is something that the palette finds by its words. */
export interface Command {
  readonly text: string
  readonly words?: string
  readonly icon: IconName
  readonly kind: string
  run(): void
}

/** found says which commands have all the words that were typed; those whose text begins with them come first. */
export function found(typed: string, all: readonly Command[]): Command[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const begins = ({ text }: Command): boolean => words.length > 0 && text.toLowerCase().startsWith(words[0])
  return all
    .filter(({ text, words: more = '' }) => {
      const whole = `${text} ${more}`.toLowerCase()
      return words.every((word) => whole.includes(word))
    })
    .sort((a, b) => Number(begins(b)) - Number(begins(a)))
}
