import { describe, expect, it } from 'vitest'
import { BodyReader } from './body-reader.ts'
import { CHUNKED, UNTIL_CLOSE } from './read-response.ts'

/** Reads a body that comes in pieces, and says what it was, and how it ended. */
function taken(length: number, ...pieces: string[]) {
  const read: string[] = []
  const reader = new BodyReader({ bodyPiece: (piece) => read.push(piece.toString('latin1')) }, 1_000)
  reader.start(length)
  let rest = ''
  for (const piece of pieces) rest += piece.slice(reader.read(Buffer.from(piece, 'latin1'), 0))
  return { body: read.join(''), rest, isDone: reader.isDone, wrong: reader.wrong, trailers: reader.trailers?.list }
}

describe('a body', () => {
  it('ends after its length, and leaves the rest', () => {
    expect(taken(5, 'he', 'lloGET')).toMatchObject({ body: 'hello', rest: 'GET', isDone: true })
    expect(taken(5, 'hell')).toMatchObject({ isDone: false })
    expect(taken(UNTIL_CLOSE, 'a', 'b')).toMatchObject({ body: 'ab', isDone: false })
  })

  it('in chunks is the same however it is cut', () => {
    const text = 'a;x="y"\r\n0123456789\r\n1F\r\nabcdefghijklmnopqrstuvwxyz01234\r\n0\r\nX-Sum: 1\r\n\r\nGET'
    const whole = taken(CHUNKED, text)
    expect(whole).toEqual({
      body: '0123456789abcdefghijklmnopqrstuvwxyz01234',
      rest: 'GET',
      isDone: true,
      wrong: undefined,
      trailers: ['X-Sum', '1'],
    })
    expect(taken(CHUNKED, ...text)).toEqual(whole)
    for (let at = 1; at < text.length; at++) expect(taken(CHUNKED, text.slice(0, at), text.slice(at))).toEqual(whole)
  })

  it('has extensions of 4,096 bytes in all, in however many chunks', () => {
    const chunks = (count: number, bytes: number): string => `1;${'x'.repeat(bytes)}\r\na\r\n`.repeat(count)
    expect(taken(CHUNKED, chunks(4, 1_024))).toMatchObject({ wrong: undefined })
    expect(taken(CHUNKED, `${chunks(4, 1_024)}1;x\r\na\r\n`)).toMatchObject({ wrong: 'a chunk extension is invalid' })
    expect(taken(CHUNKED, chunks(1, 4_097))).toMatchObject({ body: '', wrong: 'a chunk extension is invalid' })
  })

  it.each([
    ['a chunk size is no number', 'g\r\n'],
    ['a chunk size is no number', '\r\n'],
    ['a chunk size is no number', ';x\r\n'],
    ['a chunk size is no number', '1 \r\n'],
    ['a chunk size is too large', '0000000000001\r\n'],
    ['a chunk size does not end with CR LF', '1\ra'],
    ['a chunk extension is invalid', '1;x\n'],
    ['a chunk does not end with CR LF', '1\r\nab'],
    ['a chunk does not end with CR LF', '1\r\na\ra'],
    ['a trailer does not end with CR LF', '0\r\nX: 1\n\r\n'],
    ['trailers are too large', `0\r\n${'X: 1\r\n'.repeat(200)}\r\n`],
    ['a trailer says how the message is framed or where it goes', '0\r\nContent-Length: 1\r\n\r\n'],
  ])('is refused where %s: %j', (wrong, text) => {
    expect(taken(CHUNKED, text).wrong).toBe(wrong)
  })

  it('may have sizes of twelve digits, in each chunk', () => {
    const chunk = '000000000001\r\na\r\n'
    expect(taken(CHUNKED, `${chunk}${chunk}000000000000\r\n\r\n`)).toMatchObject({ body: 'aa', isDone: true })
  })

  it('knows nothing of the one before', () => {
    const reader = new BodyReader({ bodyPiece: () => {} }, 1_000)
    for (let i = 0; i < 3; i++) {
      reader.start(CHUNKED)
      reader.read(Buffer.from(`1;${'x'.repeat(4_000)}\r\na\r\n0\r\nX: 1\r\n\r\n`), 0)
      expect([reader.isDone, reader.wrong, reader.trailers?.list]).toEqual([true, undefined, ['X', '1']])
    }
    reader.start(1)
    expect([reader.isDone, reader.trailers]).toEqual([false, undefined])
  })
})
