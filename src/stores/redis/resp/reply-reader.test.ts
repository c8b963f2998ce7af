import { describe, expect, it } from 'vitest'
import { ProtocolError, type Reply, ReplyError } from './reply.ts'
import { ReplyReader } from './reply-reader.ts'

/** Hands over pieces, each in the same buffer, as a socket does. */
function read(...pieces: readonly string[]): Reply[] {
  const replies: Reply[] = []
  const reader = new ReplyReader((reply) => replies.push(reply))
  const buffer = Buffer.alloc(Math.max(...pieces.map((piece) => piece.length)))
  for (const piece of pieces) {
    reader.read(buffer.subarray(0, buffer.write(piece, 'latin1')))
    buffer.fill(0)
  }
  return replies
}

const ALL =
  '+OK\r\n:42\r\n:-7\r\n$3\r\nabc\r\n$-1\r\n*-1\r\n*0\r\n$0\r\n\r\n*3\r\n:1\r\n*1\r\n$2\r\n\r\n\r\n-ERR in it\r\n-MOVED 3 a:1\r\n'
const MEANT: readonly Reply[] = [
  'OK',
  42,
  -7,
  Buffer.from('abc'),
  null,
  null,
  [],
  Buffer.alloc(0),
  [1, [Buffer.from('\r\n')], new ReplyError('ERR in it')],
  new ReplyError('MOVED 3 a:1'),
]

describe('ReplyReader', () => {
  it('reads every kind of reply', () => {
    expect(read(ALL)).toEqual(MEANT)
  })

  it('reads the longest numbers exactly', () => {
    expect(read(':9007199254740991\r\n:-9007199254740991\r\n')).toEqual([
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
    ])
  })

  it('reads them in whatever two pieces they come', () => {
    for (let at = 1; at < ALL.length; at++) expect(read(ALL.slice(0, at), ALL.slice(at))).toEqual(MEANT)
  })

  it('reads them byte by byte', () => {
    expect(read(...ALL)).toEqual(MEANT)
  })

  it('reads a large text that comes in many pieces', () => {
    const text = Buffer.alloc(1_000_000, 'x')
    const pieces = [':1\r\n$1000000\r\n', ...Array.from({ length: 100 }, () => 'x'.repeat(10_000)), '\r\n:2\r\n']
    const replies = read(...pieces)
    expect(replies.map((reply) => (Buffer.isBuffer(reply) ? reply.equals(text) : reply))).toEqual([1, true, 2])
  })

  it('keeps a text that was read when the buffer is used again', () => {
    const [text] = read('$3\r\nabc\r\n', '+aaaaaaaaa\r\n')
    expect(text).toEqual(Buffer.from('abc'))
  })

  it('makes errors that are the server’s', () => {
    const [error] = read('-NOSCRIPT No matching script.\r\n')
    expect(error).toBeInstanceOf(ReplyError)
    expect((error as ReplyError).message).toBe('NOSCRIPT No matching script.')
  })

  it.each([
    ['another protocol', 'HTTP/1.1 400 Bad Request\r\n'],
    ['a length that is no number', '$a\r\n'],
    ['a length without digits', '$\r\n'],
    ['a length with a sign', '$+3\r\nabc\r\n'],
    ['a negative length', '$-2\r\n'],
    ['a negative count', '*-2\r\n'],
    ['a number beyond exact integers', ':12345678901234567\r\n'],
    ['a line that ends in the middle', '+a\rb\r\n'],
    ['a text that is longer than it says', '$3\r\nabcd\r\n'],
    ['a text beyond 4 MiB', '$4194305\r\n'],
    ['a list beyond 4 MiB', '*4194305\r\n'],
    ['lists in lists without end', '*1\r\n'.repeat(10)],
  ])('refuses %s', (_, text) => {
    expect(() => read(text)).toThrow(ProtocolError)
    expect(() => read(...text)).toThrow(ProtocolError)
  })

  it('holds no more than 4 MiB of a reply that does not end', () => {
    const piece = 'x'.repeat(1_000_000)
    expect(() => read('+', piece, piece, piece, piece, piece)).toThrow('the reply is too large')
    expect(() => read('*3000000\r\n', ...Array.from({ length: 15 }, () => ':1\r\n'.repeat(200_000)))).toThrow(
      'the reply is too large',
    )
  })
})
