import { describe, expect, it } from 'vitest'
import { FrameReader, type FrameSink } from './frame-reader.ts'
import { call, data, frame, headers, ping, preface, settings } from './frame-script.suite.ts'

/** Notes what a reader finds, and copies payloads as they are when they are handed over. */
class Recorder implements FrameSink {
  readonly events: string[] = []
  onBadPreface(): void {
    this.events.push('bad preface')
  }
  onFrame(type: number, flags: number, streamId: number, bytes: Uint8Array, start: number, end: number): void {
    this.events.push(`${type} ${flags} ${streamId} ${Buffer.from(bytes.subarray(start, end)).toString('hex')}`)
  }
  onOversizedFrame(type: number, streamId: number): void {
    this.events.push(`oversized ${type} ${streamId}`)
  }
}

function eventsOf(chunks: readonly Uint8Array[]): { events: string[]; partial: boolean } {
  const recorder = new Recorder()
  const reader = new FrameReader(recorder)
  for (const chunk of chunks) {
    const copy = Buffer.from(chunk)
    reader.push(copy)
    // A reader must not look at a chunk again once push has returned.
    copy.fill(0xee)
  }
  return { events: recorder.events, partial: reader.partial }
}

const stream = Buffer.concat([
  preface,
  settings([3, 7]),
  headers(1, { a: 'b' }),
  data(1, Buffer.alloc(3_000, 7)),
  frame(0, 1, 1),
  ping(),
  call(3, '/a/b', 'hello'),
])
const whole = eventsOf([stream]).events

describe('FrameReader', () => {
  it('finds every frame behind the preface, in their order', () => {
    expect(whole.map((event) => event.split(' ').slice(0, 3).join(' '))).toEqual([
      '4 0 0',
      '1 4 1',
      '0 0 1',
      '0 1 1',
      '6 0 0',
      '1 4 3',
      '0 1 3',
    ])
  })

  it('finds the same however the bytes are split in two', () => {
    for (let cut = 0; cut <= stream.length; cut++) {
      const { events, partial } = eventsOf([stream.subarray(0, cut), stream.subarray(cut)])
      expect(events, `cut at ${cut}`).toEqual(whole)
      expect(partial).toBe(false)
    }
  })

  it.each([1, 2, 3, 7, 8, 9, 10, 11, 100, 1_500])('finds the same in chunks of %i bytes', (size) => {
    const chunks: Buffer[] = []
    for (let at = 0; at < stream.length; at += size) chunks.push(stream.subarray(at, at + size))
    expect(eventsOf(chunks).events).toEqual(whole)
  })

  it('says whether the end of something is missing', () => {
    expect(eventsOf([preface.subarray(0, 23)]).partial).toBe(true)
    expect(eventsOf([preface]).partial).toBe(false)
    expect(eventsOf([preface, ping().subarray(0, 3)]).partial).toBe(true)
    expect(eventsOf([preface, ping().subarray(0, 16)]).partial).toBe(true)
  })

  it('stops at a byte that does not belong to the preface', () => {
    const broken = Buffer.concat([preface.subarray(0, 10), Buffer.from('!'), preface.subarray(11), ping()])
    expect(eventsOf([broken, ping()]).events).toEqual(['bad preface'])
  })

  it.each([[16_393], [5], [9]])('stops at a frame that is too large, read in chunks of %i', (size) => {
    const bytes = Buffer.concat([preface, ping(), frame(0x77, 0, 5, Buffer.alloc(16_385)), ping()])
    const chunks: Buffer[] = []
    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size))
    expect(eventsOf(chunks).events.slice(-2)).toEqual(['6 0 0 3132333435363738', 'oversized 119 5'])
  })

  it('hands on nothing after it was stopped, not even from the chunk at hand', () => {
    const recorder = new Recorder()
    const reader = new FrameReader(recorder)
    recorder.onFrame = () => {
      recorder.events.push('frame')
      reader.stop()
    }
    reader.push(Buffer.concat([preface, ping(), ping()]))
    reader.push(ping())
    expect(recorder.events).toEqual(['frame'])
  })
})
