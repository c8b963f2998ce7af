import type { LineReader } from './line-reader.ts'
import type { Traffic } from './open-traffic.ts'
import { MAX_LINE_BYTES, textBlocks } from './text-blocks.ts'

/** How lines of one log are read. */
export interface LineSource {
  readonly reader: LineReader
  /** How many values a line has. */
  readonly size: number
}

/** How many lines there were, and how many of them are in no known form. */
export interface LineCounts {
  lines: number
  /** Torn, too long, or no requests. */
  unread: number
}

export interface LineReading<Source extends LineSource> {
  /** Opens the log when its first block is there. */
  readonly open: (text: string) => { readonly source: Source; readonly headerLines: number }
  readonly take: (timeMs: number, values: readonly string[], source: Source) => void
  readonly counts: LineCounts
  /** Called after each block. */
  readonly progressed: () => void
}

/** Reads all lines of a log. */
export async function readLines<Source extends LineSource>(
  traffic: Traffic,
  reading: LineReading<Source>,
): Promise<void> {
  const { open, counts, progressed } = reading
  let source: Source | undefined
  for await (const { text, tooLong } of textBlocks(traffic.chunks)) {
    counts.lines += tooLong
    counts.unread += tooLong
    let start = 0
    if (source === undefined) {
      const opened = open(text)
      source = opened.source
      for (let i = 0; i < opened.headerLines; i++) start = text.indexOf('\n', start) + 1
    }
    readBlock(text, start, source, reading)
    progressed()
  }
}

function readBlock<Source extends LineSource>(
  text: string,
  from: number,
  source: Source,
  { take, counts }: LineReading<Source>,
): void {
  const { reader, size } = source
  for (let start = from; start < text.length; ) {
    const newline = text.indexOf('\n', start)
    const next = newline < 0 ? text.length : newline
    const end = text.charCodeAt(next - 1) === 0x0d ? next - 1 : next
    if (end > start) {
      counts.lines++
      const values = new Array<string>(size).fill('')
      const timeMs = end - start > MAX_LINE_BYTES ? Number.NaN : reader.read(text, start, end, values)
      if (timeMs >= 0) take(timeMs, values, source)
      else counts.unread++
    }
    start = next + 1
  }
}
