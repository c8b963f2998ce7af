import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { LineQueue } from './line-queue.ts'

/** A queue whose receiver takes texts when `take` is called. */
function queued() {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const sent: string[] = []
  let take = (): void => {}
  const queue = new LineQueue((text) => {
    sent.push(text)
    return new Promise((resolve) => {
      take = resolve
    })
  })
  return { queue, sent, take: () => take() }
}

describe('LineQueue', () => {
  it('sends the lines of a while together', async () => {
    const { queue, sent } = queued()
    queue.write('a\n')
    queue.write('b\n')
    await vi.advanceTimersByTimeAsync(100)
    expect(sent).toEqual(['a\nb\n'])
  })

  it('sends one text at a time, and holds no more than 1 MiB meanwhile', async () => {
    const { queue, sent, take } = queued()
    const line = 'x'.repeat(1_024)
    expect(queue.write(line)).toBe(true)
    await vi.advanceTimersByTimeAsync(100)
    const taken = Array.from({ length: 2_000 }, () => queue.write(line)).filter(Boolean)
    expect(taken).toHaveLength(1_024)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(sent).toHaveLength(1)
    take()
    await vi.advanceTimersByTimeAsync(100)
    expect(sent[1]).toHaveLength(1_048_576)
    expect(queue.write(line)).toBe(true)
  })

  it('sends what is left when it closes, and gives up where no one takes it', async () => {
    const { queue, sent } = queued()
    queue.write('a\n')
    const closed = queue.close()
    expect(sent).toEqual(['a\n'])
    await vi.advanceTimersByTimeAsync(1_000)
    await closed
  })
})
